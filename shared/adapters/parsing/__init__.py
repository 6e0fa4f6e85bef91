"""From the bytes of a file to its pages.

Files come from anybody, and parsers are large: each file is read in a child process that has nothing worth stealing,
may not write, and is ended at a limit of time or memory. ``parser`` is what the rest of the product sees; ``child``
runs on the other side, and ``reading`` with the readers of each type is what it runs.
"""
