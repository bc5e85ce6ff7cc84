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
