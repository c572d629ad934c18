"""What users of Carillon import. A function that runs as a job's target:

from carillon import Context, handler

@handler("resize")
def resize(context: Context, payload: dict[str, str]) -> str: ...
"""

from carillon.fencing import Fence
from carillon.handlers import Context, handler

__version__ = "0.1.0"

__all__ = ["Context", "Fence", "__version__", "handler"]
