"""What all tests share."""

import signal

# A shell's background job has Ctrl-C ignored, and hands that down to every process it starts: the tests of Ctrl-C then wait for nothing.
signal.signal(signal.SIGINT, signal.default_int_handler)
