"""`make demo`: a whole match by mail."""

import sys

from demo.whole_match import main

if __name__ == "__main__":
    sys.exit(main())
