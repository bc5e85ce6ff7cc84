"""The prompt of `frazil sql` on a terminal."""

import codecs
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

import pytest

from home import needed

PROMPT, MORE = "frazil> ", "     -> "


class Terminal:
    def __init__(self, home, kind="dumb"):
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen([needed("FRAZIL_BIN"), "sql", "-o", "csv"], stdin=slave, stdout=slave, stderr=slave, cwd=home.folder,
                                        env=home.environment(TERM=kind), start_new_session=True)
        os.close(slave)
        self.heard = ""
        self.decoder = codecs.getincrementaldecoder("utf-8")()

    def until(self, text, seconds=60):
        """What is printed up to and with `text`, without what the terminal echoes of control."""
        end = time.monotonic() + seconds
        while text not in self.heard:
            assert time.monotonic() < end, f"waited for {text!r}, heard {self.heard!r}"
            if not select.select([self.master], [], [], 1)[0]:
                continue
            try:
                piece = os.read(self.master, 65536)
            except OSError:  # Linux says so when the other side has closed
                piece = b""
            assert piece, f"ended before {text!r}, heard {self.heard!r}"
            self.heard += re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", self.decoder.decode(piece)).replace("\r", "")
        at = self.heard.index(text) + len(text)
        before, self.heard = self.heard[:at], self.heard[at:]
        return before

    def type(self, line):
        os.write(self.master, line.encode() + b"\n")

    def resize(self, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        os.kill(self.process.pid, signal.SIGWINCH)

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.master)


def cpu_ticks(pid) -> int:
    with open(f"/proc/{pid}/stat") as stat:
        return sum(map(int, stat.read().rsplit(")", 1)[1].split()[11:13]))


@pytest.fixture
def terminal(home):
    terminal = Terminal(home)
    terminal.until(PROMPT)
    yield terminal
    terminal.end()


def test_statements_span_lines_and_errors_do_not_end_it(terminal):
    terminal.type("SELECT 1 + 1")
    terminal.until(MORE)
    terminal.type("  AS two, ';' AS s;")
    answer = terminal.until(PROMPT)
    assert "two,s\n2,;\n" in answer and re.search(r"^\d+\.\d{3} s$", answer, re.MULTILINE)
    terminal.type("SELECT nothing;")
    assert "error: " in terminal.until(PROMPT)
    terminal.type("SELECT 40 + 2 AS answer;")
    assert "answer\n42\n" in terminal.until(PROMPT)


def test_commands_of_the_shell(terminal):
    terminal.type("CREATE NAMESPACE demo; CREATE TABLE demo.flights (id BIGINT);")
    terminal.until(PROMPT)
    terminal.type(".tables demo")
    assert "demo,flights" in terminal.until(PROMPT)
    terminal.type(".schema demo.flights")
    assert "USING iceberg" in terminal.until(PROMPT)
    terminal.type(".mode jsonl")
    terminal.until(PROMPT)
    terminal.type(".timer off")
    terminal.until(PROMPT)
    terminal.type("SELECT 1 AS a;")
    answer = terminal.until(PROMPT)
    assert '{"a":1}' in answer and " s\n" not in answer
    terminal.type(".dance")
    assert "error: not a command of the shell: .dance" in terminal.until(PROMPT)
    terminal.type(".quit")
    assert terminal.process.wait(timeout=60) == 0


def test_interrupts_drop_the_line_and_cancel_the_statement(terminal):
    terminal.type("SELECT 'half")
    terminal.until(MORE)
    os.kill(terminal.process.pid, signal.SIGINT)
    terminal.until(PROMPT)
    terminal.type("SELECT count(*) FROM range(100000000000) a, range(1000000) b;")
    terminal.until("range(1000000) b;")
    started = cpu_ticks(terminal.process.pid)
    while cpu_ticks(terminal.process.pid) < started + 30:  # it counts: the statement runs
        assert terminal.process.poll() is None
        select.select([], [], [], 0.05)
    os.kill(terminal.process.pid, signal.SIGINT)
    assert "interrupted" in terminal.until(PROMPT)
    terminal.type("SELECT 3 AS still_here;")
    assert "still_here\n3\n" in terminal.until("\n3\n")


def test_an_interrupt_is_heard_whenever_it_comes_behind_a_prompt(terminal):
    for _ in range(30):  # most of them before the shell waits for a key
        terminal.type("SELECT 'half")
        terminal.until(MORE)
        os.kill(terminal.process.pid, signal.SIGINT)
        terminal.until(PROMPT)
    terminal.type("SELECT 3 AS still_here;")
    assert "still_here\n3\n" in terminal.until("\n3\n")


def test_letters_of_all_languages_are_taken(terminal):
    terminal.type("SELECT 'grün €' AS words;")
    assert "words\ngrün €\n" in terminal.until("\ngrün €\n")


def test_bytes_that_are_no_letters_take_nothing_with_them(terminal):
    os.write(terminal.master, b"SELECT 'l\xe4ndern' AS words;\xe4\n")
    assert "words\nlndern\n" in terminal.until("\nlndern\n")


def test_every_change_of_the_width_is_followed(home):
    terminal = Terminal(home, kind="xterm")
    try:
        terminal.until(PROMPT)
        for columns, text in [(100, "a"), (90, "b"), (30, "c")]:  # of one line
            terminal.resize(columns)
            os.write(terminal.master, text.encode())
            terminal.until(text)
        os.write(terminal.master, b"x" * 40)
        terminal.until("x \bx")  # which makes the terminal begin the second row
    finally:
        terminal.end()


def test_the_prompt_takes_the_terminal_back_whenever_it_is_continued(terminal):
    for _ in range(3):
        mode = termios.tcgetattr(terminal.master)
        mode[3] |= termios.ICANON | termios.ECHO  # as a shell has it that ran meanwhile
        termios.tcsetattr(terminal.master, termios.TCSANOW, mode)
        os.kill(terminal.process.pid, signal.SIGCONT)
        end = time.monotonic() + 60
        while termios.tcgetattr(terminal.master)[3] & termios.ICANON:
            assert time.monotonic() < end
            select.select([], [], [], 0.01)
    terminal.type("SELECT 3 AS still_here;")
    assert "still_here\n3\n" in terminal.until("\n3\n")


def test_statements_are_remembered(terminal, home):
    terminal.type("SELECT 5")
    terminal.until(MORE)
    terminal.type("  AS five;")
    terminal.until(PROMPT)
    terminal.type(".quit")
    assert terminal.process.wait(timeout=60) == 0
    assert "SELECT\\0405\\040" in (home.folder / "sql_history").read_text() or "SELECT 5   AS five;" in (home.folder / "sql_history").read_text()
