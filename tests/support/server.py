"""A server that tests start on the loopback interface, wait for, and stop by its process id."""

import ctypes
import pathlib
import signal
import socket
import subprocess
import time

_LIBC = ctypes.CDLL(None)
_PR_SET_PDEATHSIG = 1


def free_ports(count: int) -> list:
    """Ports that nobody listens on. All are held until all are found, so that they differ."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


def wait_until(condition, timeout: float, what: str, pause: float = 0.05):
    """The first true value of condition(); fails after `timeout` seconds."""
    deadline = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < deadline, f"waited {timeout} s for {what}"
        time.sleep(pause)


class Server:
    """One process. It goes with the test run, even when that is killed."""

    def __init__(self, name: str, folder: pathlib.Path):
        self.name = name
        self.folder = folder
        self.log = folder / f"{name}.log"
        self.process = None
        self.scratch = folder / "tmp"  # for what it would leave in the machine's
        self.scratch.mkdir(parents=True, exist_ok=True)

    def launch(self, command: list, is_ready, timeout: float = 120) -> None:
        assert self.process is None, f"{self.name} runs already"
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            preexec_fn=lambda: _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL))

        def ready():
            assert self.process.poll() is None, f"{self.name} ended with {self.process.returncode}:\n{self.tail()}"
            return is_ready()

        try:
            wait_until(ready, timeout, f"{self.name} to answer")
        except BaseException:
            self.kill()
            raise

    def tail(self) -> str:
        return self.log.read_text(errors="replace")[-4000:]

    @property
    def is_running(self) -> bool:
        return self.process is not None

    def stop(self) -> None:
        """Ends it in good order."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """Ends it as a power cut would."""
        self._end(signal.SIGKILL)

    def freeze(self) -> None:
        """Its connections stay, and nothing is answered until thaw()."""
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def _end(self, how: signal.Signals) -> None:
        if self.process is None:
            return
        self.process.send_signal(signal.SIGCONT)
        self.process.send_signal(how)
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(60)
        self.process = None
