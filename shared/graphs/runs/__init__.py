"""One run of a graph for one owner: the lease, the stream, what is stored, and the end of the turn.

- ``request``: what a run is asked for; ``stream``: what comes out of it.
- ``runner``: starts runs. A run goes on whether or not anybody reads what comes out.
- ``run``: one run from its lease to its release; ``stateless_run``: one that has no thread.
- ``graph_stream``: one pass of the graph; ``turn_input``: what goes into it.
- ``journal``: who hears of everything that comes out; ``failures``: what clients are told of errors.
- ``admission``: gets the lease, or says why not; ``lease_keeper``: holds it and hears of a stop.
- ``turn_saver``: the checkpointer as one run sees it.
- ``partial_answer``: what is kept of an answer that was stopped.
"""
