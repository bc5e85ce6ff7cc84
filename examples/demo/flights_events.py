#!/usr/bin/env python3
"""Makes the demo's change stream: the flights that left New York in 2013, as an airport's systems would have told them.

    flights_events.py OUTPUT.jsonl        (FRAZIL_FLIGHTS_DIR: folder of flights.csv.zip and airports.csv)

Each flight is upserted 30 days before its scheduled departure (the published timetable), again when it departed and again
when it landed; a cancelled one is deleted at its scheduled time. One line an event, in the order of time:

    {"key": {"date": ..., "carrier": ..., "flight": ..., "origin": ...}, "value": {...} | null}

The source gives departures by delay in minutes, but landings only as the clock of the destination: its time zone
(airports.csv, with American summer time) makes them instants. Events of one minute keep the order of the source. The
output is the same on every run; every count that the data is known to have is checked.
"""

import csv
import datetime
import io
import os
import pathlib
import sys
import time
import zipfile

EXPECTED = {"flights": 336_776, "departed": 328_521, "landed": 328_063, "cancelled": 8_255, "events": 1_001_615}

MINUTES_A_DAY = 24 * 60
TIMETABLE_LEAD = 30 * MINUTES_A_DAY
EPOCH = datetime.date(1970, 1, 1).toordinal()
# Four airports in the Caribbean that airports.csv lacks; all keep Atlantic time the whole year.
MISSING_AIRPORTS = {"BQN": -240, "PSE": -240, "SJU": -240, "STT": -240}
# American summer time of 2013: 10 March to 3 November, 2 o'clock by the local clock.
SUMMER_BEGINS = (datetime.date(2013, 3, 10).toordinal() - EPOCH) * MINUTES_A_DAY + 2 * 60
SUMMER_ENDS = (datetime.date(2013, 11, 3).toordinal() - EPOCH) * MINUTES_A_DAY + 2 * 60

SCHEDULED, DEPARTED, LANDED, CANCELLED = range(4)
# An event is one integer, so that a million of them sort fast: minute, flight's number in the source, kind.
KIND_BITS, FLIGHT_BITS = 2, 20


def read_zones(folder: pathlib.Path) -> dict:
    """Airport code -> (minutes off UTC in winter, whether it keeps American summer time)."""
    zones = {code: (offset, False) for code, offset in MISSING_AIRPORTS.items()}
    with open(folder / "airports.csv", newline="", encoding="utf-8") as file:
        for airport in csv.DictReader(file):
            zones[airport["faa"]] = (round(float(airport["tz"]) * 60), airport["dst"] == "A")
    return zones


def utc_offset(zone: tuple, minute: int) -> int:
    """Minutes off UTC at an instant (minutes since 1970, UTC)."""
    winter, has_summer = zone
    is_summer = has_summer and SUMMER_BEGINS - winter <= minute < SUMMER_ENDS - winter - 60
    return winter + 60 if is_summer else winter


def landing(departed: int, clock: int, zone: tuple) -> int:
    """The first instant after the departure at which the destination's clock shows `clock` (hhmm)."""
    local = clock // 100 * 60 + clock % 100
    arrived = departed
    for _ in range(2):  # again with the offset that holds there, should summer time begin or end on the way
        offset = utc_offset(zone, arrived)
        arrived = departed + ((local - departed - offset) % MINUTES_A_DAY or MINUTES_A_DAY)
    return arrived


def number(text: str) -> str:
    return "null" if text in ("", "NA") else str(int(text))


def string(text: str) -> str:
    return "null" if text in ("", "NA") else f'"{text}"'  # codes only: nothing that JSON would escape


def parse_minute(text: str, memo={}) -> int:
    """2013-01-01T10:00:00Z -> minutes since 1970."""
    if text not in memo:
        moment = datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ")
        memo[text] = (moment.toordinal() - EPOCH) * MINUTES_A_DAY + moment.hour * 60 + moment.minute
    return memo[text]


def read_flights(folder: pathlib.Path):
    """Returns the events as sorted integers, and of each flight what its lines are made of."""
    zones = read_zones(folder)
    events, parts = [], []
    counts = dict.fromkeys(EXPECTED, 0)
    keys = set()
    with zipfile.ZipFile(folder / "flights.csv.zip") as archive, archive.open("flights.csv") as raw:
        rows = csv.reader(io.TextIOWrapper(raw, "utf-8", newline=""))
        header = next(rows)
        expected = ("year month day dep_time sched_dep_time dep_delay arr_time sched_arr_time arr_delay carrier flight "
                    "tailnum origin dest air_time distance hour minute time_hour").split()
        if header != expected:
            raise SystemExit(f"flights.csv has other columns than expected: {header}")
        for index, (year, month, day, dep_time, sched_dep, dep_delay, arr_time, sched_arr, arr_delay, carrier, flight, tailnum,
                    origin, dest, air_time, distance, hour, minute, time_hour) in enumerate(rows):
            has_departed, has_landed = dep_time not in ("", "NA"), arr_time not in ("", "NA")
            key = f'{{"date":"{year}-{int(month):02}-{int(day):02}","carrier":"{carrier}","flight":{flight},"origin":"{origin}"}}'
            keys.add(key)
            timetable = (f'"year":{year},"month":{month},"day":{day},"sched_dep_time":{number(sched_dep)},'
                         f'"sched_arr_time":{number(sched_arr)},"dest":"{dest}","distance":{number(distance)},'
                         f'"hour":{number(hour)},"minute":{number(minute)},"time_hour":"{time_hour}",')
            takeoff = f'"dep_time":{number(dep_time)},"dep_delay":{number(dep_delay)},"tailnum":{string(tailnum)},'
            touchdown = f'"arr_time":{number(arr_time)},"arr_delay":{number(arr_delay)},"air_time":{number(air_time)},'
            parts.append((key, timetable, takeoff, touchdown))

            scheduled = parse_minute(time_hour) + int(minute)
            at = index << KIND_BITS
            shift = FLIGHT_BITS + KIND_BITS
            events.append(scheduled - TIMETABLE_LEAD << shift | at | SCHEDULED)
            if has_departed:
                departed = scheduled + int(dep_delay)
                events.append(departed << shift | at | DEPARTED)
                if has_landed:
                    events.append(landing(departed, int(arr_time), zones[dest]) << shift | at | LANDED)
            elif has_landed:
                raise SystemExit(f"a flight landed that never departed: {key}")
            else:
                events.append(scheduled << shift | at | CANCELLED)
            counts["flights"] += 1
            counts["departed"] += has_departed
            counts["landed"] += has_landed
            counts["cancelled"] += not has_departed
    counts["events"] = len(events)
    if counts != EXPECTED:
        raise SystemExit(f"flights.csv is not the expected one: {counts}, expected {EXPECTED}")
    if len(keys) != len(parts):
        raise SystemExit(f"(date, carrier, flight, origin) is no key: {len(parts)} flights, {len(keys)} keys")
    events.sort()
    return events, parts


def write_events(events: list, parts: list, path: pathlib.Path) -> None:
    flight_mask = (1 << FLIGHT_BITS) - 1
    kind_mask = (1 << KIND_BITS) - 1
    with open(path, "w", encoding="ascii", newline="\n", buffering=1 << 20) as out:
        write = out.write
        for event in events:
            key, timetable, takeoff, touchdown = parts[event >> KIND_BITS & flight_mask]
            kind = event & kind_mask
            if kind == SCHEDULED:
                write(f'{{"key":{key},"value":{{{timetable}"status":"scheduled"}}}}\n')
            elif kind == DEPARTED:
                write(f'{{"key":{key},"value":{{{timetable}{takeoff}"status":"departed"}}}}\n')
            elif kind == LANDED:
                write(f'{{"key":{key},"value":{{{timetable}{takeoff}{touchdown}"status":"landed"}}}}\n')
            else:
                write(f'{{"key":{key},"value":null}}\n')


def main() -> None:
    if len(sys.argv) != 2 or "FRAZIL_FLIGHTS_DIR" not in os.environ:
        raise SystemExit(__doc__)
    started = time.monotonic()
    output = pathlib.Path(sys.argv[1])
    events, parts = read_flights(pathlib.Path(os.environ["FRAZIL_FLIGHTS_DIR"]))
    unfinished = output.with_name(output.name + ".part")
    write_events(events, parts, unfinished)
    unfinished.rename(output)
    print(f"{len(events):,} change events of {len(parts):,} flights, {output.stat().st_size / 1e6:.0f} MB, "
          f"in {time.monotonic() - started:.1f} s")


if __name__ == "__main__":
    main()
