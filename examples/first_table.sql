-- A first Iceberg v3 table: ten orders, one customer who wants to be forgotten, and what that leaves behind.
--     frazil sql -f examples/first_table.sql
CREATE NAMESPACE IF NOT EXISTS shop;
DROP TABLE IF EXISTS shop.tbl_mor;

-- Properties are stored as given, known or not: 'write.write.mode' is a misspelling that many scripts carry.
CREATE TABLE shop.tbl_mor (
  product_name string,
  price decimal(10,2),
  customer_id bigint,
  order_id string,
  datetime timestamp,
  category string
) USING iceberg
TBLPROPERTIES (
  'format-version' = '3',
  'write.delete.mode' = 'merge-on-read',
  'write.write.mode' = 'merge-on-read',
  'write.merge.mode' = 'merge-on-read'
);

INSERT INTO shop.tbl_mor VALUES
  ('trail shoes',  89.90, 1698, 'o-1001', TIMESTAMP '2026-01-05 09:12:00', 'sport'),
  ('thermos',      24.50, 1702, 'o-1002', TIMESTAMP '2026-01-05 10:30:00', 'kitchen'),
  ('ice scraper',   6.95, 1698, 'o-1003', TIMESTAMP '2026-01-06 08:01:30', 'car'),
  ('wool hat',     19.00, 1711, 'o-1004', TIMESTAMP '2026-01-06 08:15:00', 'clothes'),
  ('tea kettle',   34.99, 1702, 'o-1005', TIMESTAMP '2026-01-07 19:45:10', 'kitchen'),
  ('head lamp',    42.00, 1720, 'o-1006', TIMESTAMP '2026-01-08 21:05:00', 'sport'),
  ('snow chains', 119.00, 1733, 'o-1007', TIMESTAMP '2026-01-09 07:00:00', 'car'),
  ('mittens',      15.25, 1698, 'o-1008', TIMESTAMP '2026-01-09 12:00:00', 'clothes'),
  ('skates',       75.00, 1741, 'o-1009', TIMESTAMP '2026-01-10 16:20:00', 'sport'),
  ('soup pot',     54.40, 1711, 'o-1010', TIMESTAMP '2026-01-11 11:11:11', 'kitchen');

SELECT * FROM shop.tbl_mor ORDER BY order_id;

-- A bigint compared with a text: as in Spark, the text is taken for a number.
DELETE FROM shop.tbl_mor WHERE customer_id = '1698';

SELECT * FROM shop.tbl_mor ORDER BY order_id;

-- No data file was rewritten: a deletion vector, a blob in a Puffin file, strikes the three rows out.
SELECT * FROM shop.tbl_mor.delete_files;

SELECT operation, summary['added-records'] AS added_records, summary['added-dvs'] AS added_dvs,
       summary['added-position-deletes'] AS rows_deleted
FROM shop.tbl_mor.snapshots ORDER BY committed_at;

-- Row lineage: ids that every v3 reader sees. In metadata.json they begin as next-row-id, first-row-id and added-rows:
--     frazil inspect <the last file of shop.tbl_mor.metadata_log_entries>
SELECT _row_id, _last_updated_sequence_number, product_name FROM shop.tbl_mor ORDER BY _row_id;
SELECT file FROM shop.tbl_mor.metadata_log_entries ORDER BY timestamp DESC, file DESC LIMIT 1;
