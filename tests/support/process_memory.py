"""How much memory a process takes at most, watched while it runs."""

import pathlib
import threading
import time


class Memory(threading.Thread):
    """Peaks of a process: `anonymous_mb` (with shared memory) is what --memory-limit is about, `resident_mb` holds mapped
    files as well."""

    def __init__(self, pid: int):
        super().__init__(daemon=True)
        self.status = pathlib.Path(f"/proc/{pid}/status")
        self.anonymous_kb = self.resident_kb = 0

    def run(self):
        while True:
            try:
                fields = dict(line.split(":", 1) for line in self.status.read_text().splitlines())
                kb = {name: int(fields[name].split()[0]) for name in ("RssAnon", "RssShmem", "VmHWM")}
            except (OSError, KeyError):  # it has ended
                return
            self.anonymous_kb = max(self.anonymous_kb, kb["RssAnon"] + kb["RssShmem"])
            self.resident_kb = kb["VmHWM"]
            time.sleep(0.02)

    def figures(self) -> dict:
        return {"anonymous_mb": round(self.anonymous_kb / 1024), "resident_mb": round(self.resident_kb / 1024)}
