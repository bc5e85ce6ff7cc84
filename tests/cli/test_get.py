"""`frazil get` as a user runs it: keys of every type, through the key index of the home and without it."""

import json

import pytest

from home import tombstone, upsert

COLUMNS = ("region string not null, day date not null, at timestamp not null, price decimal(9,2) not null, "
           "code binary not null, note string")
KEYS = "region,day,at,price,code"
KEY = "region='eu, \"west\"',day=2024-02-29,at='2024-02-29 12:00:00+01:00',price=1.5,code=0x00ff"


def get(home, *arguments, **options):
    return home.run("get", *arguments, "-o", "jsonl", **options)


def rows_of(done):
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture
def users(home):
    home.ingest([upsert({"app": app, "user": user}, v=f"{app}-{user}") for app in range(3) for user in ("a", "b", "o'brien")],
                "t.users", "--create", "--columns", "app int not null, user string not null, v string", keys="app,user")
    return home


def test_prints_the_row_of_a_key(users):
    assert rows_of(get(users, "t.users", "--key", "app=1,user=b")) == [{"app": 1, "user": "b", "v": "1-b"}]
    assert rows_of(get(users, "t.users", "--key", "user='o''brien' , app = 2")) == [{"app": 2, "user": "o'brien", "v": "2-o'brien"}]
    assert rows_of(get(users, "t.users", "--key", "app=0,user=a", "--columns", "v,_pos")) == [{"v": "0-a", "_pos": 0}]
    assert users.run("get", "t.users", "--key", "app=0,user=a", "-o", "csv").stdout == "app,user,v\n0,a,0-a\n"


def test_values_are_of_the_columns_types(home):
    home.sql(f"CREATE NAMESPACE t; CREATE TABLE t.x ({COLUMNS}) USING iceberg")
    home.sql("ALTER TABLE t.x SET IDENTIFIER FIELDS region, day, at, price, code")
    home.sql("INSERT INTO t.x VALUES ('eu, \"west\"', DATE '2024-02-29', TIMESTAMPTZ '2024-02-29 11:00:00+00', 1.50, "
             "'\\x00\\xFF'::BLOB, 'found')")
    assert rows_of(get(home, "t.x", "--key", KEY, "--columns", "note")) == [{"note": "found"}]
    assert get(home, "t.x", "--key", KEY.replace("1.5", "1.51"), check=False).returncode == 1


def test_a_key_without_a_row_is_said_on_standard_error(users):
    done = get(users, "t.users", "--key", "app=7,user=b", check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "error: row not found in t.users: app=7,user=b\n"


@pytest.mark.parametrize("key, message", [
    ("app=1", "key of t.users lacks identifier field: user"),
    ("app=1,usr=b", "not an identifier field of t.users: 'usr' (did you mean user?)"),
    ("app=1,user=b,v=x", "not an identifier field of t.users: 'v'"),
    ("app=1,app=1,user=b", "key of t.users names a field twice: 'app'"),
    ("app=1.7,user=b", "not a value of int app: '1.7'"),
    ("app", "--key: not a key: app"),
])
def test_a_key_that_is_none_is_refused(users, key, message):
    done = get(users, "t.users", "--key", key, check=False)
    assert (done.returncode, done.stdout) == (2 if key == "app" else 1, "")  # a call that is wrong whatever the table is
    assert done.stderr.startswith(f"error: {message}")


def test_an_unknown_column_and_an_unknown_table_are_refused(users):
    assert "vv" in get(users, "t.users", "--key", "app=1,user=b", "--columns", "vv", check=False).stderr
    assert "t.user" in get(users, "t.user", "--key", "app=1,user=b", check=False).stderr


def test_names_are_found_as_in_sql(users):
    assert rows_of(get(users, "t.users", "--key", "APP=1,User=b", "--columns", "V,_POS")) == [{"v": "1-b", "_pos": 4}]
    assert rows_of(get(users, f"{users.catalog}.t.users", "--key", "app=1,user=b", "--columns", "v")) == [{"v": "1-b"}]
    done = get(users, "t.users", "--key", "app=1,user=b", "--columns", "v,usr", check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: no such column of t.users: 'usr' (did you mean user?)"), done.stderr


@pytest.mark.parametrize("type, sql, key", [
    ("uuid", "'0192f0c1-2b3c-7d4e-8f90-a1b2c3d4e5f6'", "0192f0c1-2b3c-7d4e-8f90-a1b2c3d4e5f6"),
    ("time", "TIME '12:34:56.789012'", "12:34:56.789012"),
    ("timestamp_ns", "TIMESTAMP_NS '2024-02-29 12:00:00.123456789'", "'2024-02-29 12:00:00.123456789'"),
    ("timestamptz_ns", "TIMESTAMP_NS '2024-02-29 12:00:00.123456789'", "'2024-02-29 13:00:00.123456789+01:00'"),
    ("fixed(3)", "'\\x00\\xFF\\x10'::BLOB", "0x00ff10"),
    ("decimal(38, 10)", "-0.0000000001", "-1E-10"),
    ("boolean", "true", "true"),
])
def test_keys_of_every_type_are_found_through_the_index_and_without(home, type, sql, key):
    home.sql(f"CREATE NAMESPACE t; CREATE TABLE t.x (k {type} not null, v string) USING iceberg TBLPROPERTIES ('format-version' = '3')")
    home.sql("ALTER TABLE t.x SET IDENTIFIER FIELDS k")
    home.sql(f"INSERT INTO t.x VALUES ({sql}, 'found')")
    for at_hand in (False, True):
        if at_hand:
            home.run("index", "rebuild", "t.x")
        explain = "".join(str(row) for row in home.sql(f"EXPLAIN SELECT * FROM t.x WHERE k = {sql}"))
        assert ("Key index lookup" in explain) == at_hand, explain
        assert rows_of(get(home, "t.x", "--key", f"k={key}", "--columns", "v")) == [{"v": "found"}]
        assert home.sql(f"SELECT v FROM t.x WHERE k = {sql}") == [{"v": "found"}]
        printed = home.run("get", "t.x", "--key", f"k={key}", "-o", "jsonl").stdout
        again = json.loads(printed)["k"]
        if isinstance(again, str) and type != "fixed(3)":
            assert rows_of(get(home, "t.x", "--key", f"k='{again}'", "--columns", "v")) == [{"v": "found"}]
    home.run("index", "verify", "t.x")


@pytest.mark.parametrize("condition, found", [
    ("b AND n = 1", ["t1"]), ("NOT b AND n IN (1, 2)", ["f1", "f2"]), ("b = true AND n = 2", ["t2"]),
    ("(b, n) = (true, 1)", ["t1"]), ("(b, n) IN ((true, 1), (false, 2))", ["f2", "t1"]), ("(n, b) = (2, false)", ["f2"]),
    ("(b AND n = 1) OR (NOT b AND n = 2)", ["f2", "t1"]), ("n = 1 AND (b OR NOT b)", ["f1", "t1"]),
    ("(b, n) = (true, NULL)", []), ("(b, n) = (true, 7)", []),
])
def test_sql_names_whole_keys_in_many_ways(home, condition, found):
    home.sql("CREATE NAMESPACE t; CREATE TABLE t.x (b boolean not null, n bigint not null, v string) USING iceberg "
             "TBLPROPERTIES ('format-version' = '3')")
    home.sql("ALTER TABLE t.x SET IDENTIFIER FIELDS b, n")
    home.sql("INSERT INTO t.x VALUES (true, 1, 't1'), (true, 2, 't2'), (false, 1, 'f1'), (false, 2, 'f2'), (true, 3, 't3')")
    home.run("index", "rebuild", "t.x")
    query = f"SELECT v FROM t.x WHERE {condition}"
    assert sorted(row["v"] for row in home.sql(query)) == found
    explain = "".join(str(row) for row in home.sql(f"EXPLAIN {query}"))
    assert "Key index lookup" in explain or "NULL" in condition, explain


def test_the_newest_row_comes_with_an_index_and_after_every_change(users):
    users.run("index", "rebuild", "t.users")
    key = ("t.users", "--key", "app=1,user=b", "--columns", "v")
    explain = "".join(str(row) for row in users.sql("EXPLAIN SELECT * FROM t.users WHERE app = 1 AND user = 'b'"))
    assert "Key index lookup" in explain
    assert rows_of(get(users, *key)) == [{"v": "1-b"}]
    users.ingest([upsert({"app": 1, "user": "b"}, v="new")], "t.users", keys="app,user")
    assert rows_of(get(users, *key)) == [{"v": "new"}]
    users.ingest([tombstone({"app": 1, "user": "b"})], "t.users", keys="app,user")
    assert get(users, *key, check=False).returncode == 1
    users.ingest([upsert({"app": 1, "user": "b"}, v="again")], "t.users", keys="app,user")
    assert rows_of(get(users, *key)) == [{"v": "again"}]


def test_the_row_of_a_key_is_the_scans_row_after_rewrites_and_commits_of_others(users):
    """The index of the last ingest is behind each time: what came since is followed in memory, rewrites by their row maps."""
    users.run("index", "rebuild", "t.users")

    def check():
        explain = "".join(str(row) for row in users.sql("EXPLAIN SELECT * FROM t.users WHERE app = 2 AND user = 'b'"))
        assert "Key index lookup" in explain, explain
        for app, user in ((1, "a"), (2, "b"), (2, "new"), (0, "o'brien")):
            name = user.replace("'", "''")
            by_scan = f"FROM t.users WHERE app + 0 = {app} AND concat(user, '') = '{name}'"
            expected = users.sql(f"SELECT *, _row_id, _file, _pos {by_scan}")
            done = get(users, "t.users", "--key", f"app={app},user='{name}'", "--columns", "*,_row_id,_file,_pos", check=False)
            assert done.returncode == (0 if expected else 1), done.stderr
            assert rows_of(done) == expected

    rewrite = "CALL system.rewrite_data_files(table => 't.users', options => map('rewrite-all', 'true'))"
    users.ingest([upsert({"app": 1, "user": "a"}, v="second"), tombstone({"app": 2, "user": "b"})], "t.users", keys="app,user")
    check()
    users.sql(rewrite)
    check()
    users.sql("DELETE FROM t.users WHERE app = 1 AND v = 'second'")
    users.sql("INSERT INTO t.users VALUES (2, 'new', 'by another'), (2, 'b', 'again')")
    check()
    users.sql("ALTER TABLE t.users ALTER COLUMN app TYPE bigint")
    check()
    users.sql("ALTER TABLE t.users ADD COLUMN more int DEFAULT 7")
    users.sql("CALL system.rewrite_data_files(table => 't.users', strategy => 'sort', sort_order => 'v DESC', "
              "options => map('rewrite-all', 'true'))")
    check()
    users.ingest([upsert({"app": 0, "user": "a"}, v="after it")], "t.users", keys="app,user")
    users.sql("UPDATE t.users SET v = 'updated' WHERE app = 2 AND user = 'new'")
    users.sql(rewrite)
    check()
    before = users.metadata("t.users")["snapshots"][0]["snapshot-id"]
    users.sql(f"CALL system.rollback_to_snapshot('t.users', {before})")
    check()
