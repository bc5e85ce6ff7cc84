-- A nightly maintenance job as it is written for Spark: frazil sql -f examples/maintenance.sql
-- It runs beside the pipelines that write to the table, and never waits for them, nor they for it.

-- 1. Many small files become few; rows keep their ids, deleted rows go.
CALL system.rewrite_data_files(
  table => 'demo.events',
  options => map('target-file-size-bytes', '134217728', 'min-input-files', '2')
);

-- 2. Snapshots older than this go, and the files that only they needed.
CALL system.expire_snapshots(
  table => 'demo.events',
  older_than => timestamp '2026-01-01 00:00:00',
  retain_last => 1
);

-- 3. Files that failed jobs left behind: only listed here; without dry_run they are deleted.
CALL system.remove_orphan_files(
  table => 'demo.events',
  older_than => timestamp '2026-01-01 00:00:00',
  dry_run => true
);
