-- A table that changes: partitions, new columns with defaults, updates that keep row ids, merges, the past.
--     frazil sql -f examples/evolving_table.sql
CREATE NAMESPACE IF NOT EXISTS shop;
DROP TABLE IF EXISTS shop.orders;

CREATE TABLE shop.orders (
  order_id     bigint NOT NULL,
  product_name string,
  price        decimal(10,2),
  category     string,
  delivery     struct<city: string, days: int>
) USING iceberg
PARTITIONED BY (category)
TBLPROPERTIES ('format-version' = '3', 'write.delete.mode' = 'merge-on-read',
               'write.update.mode' = 'merge-on-read', 'write.merge.mode' = 'merge-on-read');

INSERT INTO shop.orders VALUES (1,  'trail shoes', 89.90,  'sport',   {'city': 'Oslo',    'days': 2});
INSERT INTO shop.orders VALUES (2,  'thermos',     24.50,  'kitchen', {'city': 'Bergen',  'days': 1});
INSERT INTO shop.orders VALUES (3,  'ice scraper', 6.95,   'car',     {'city': 'Oslo',    'days': 3});
INSERT INTO shop.orders VALUES (4,  'wool hat',    19.00,  'clothes', {'city': 'Tromsø',  'days': 5});
INSERT INTO shop.orders VALUES (5,  'tea kettle',  34.99,  'kitchen', {'city': 'Oslo',    'days': 2});
INSERT INTO shop.orders VALUES (6,  'head lamp',   42.00,  'sport',   NULL);
INSERT INTO shop.orders VALUES (7,  'snow chains', 119.00, 'car',     {'city': 'Bergen',  'days': 1});
INSERT INTO shop.orders VALUES (8,  'mittens',     15.25,  'clothes', {'city': 'Narvik',  'days': 4});
INSERT INTO shop.orders VALUES (9,  'skates',      75.00,  'sport',   {'city': 'Oslo',    'days': NULL});
INSERT INTO shop.orders VALUES (10, 'soup pot',    54.40,  'kitchen', {'city': 'Bergen',  'days': 2});

SHOW PARTITIONS shop.orders;
ALTER TABLE shop.orders CREATE TAG before_sale RETAIN 30 DAYS;

-- A new column with a default: no file is touched, and the ten rows read it.
ALTER TABLE shop.orders ADD COLUMN discount decimal(5,2) DEFAULT 0.00;
SELECT order_id, price, discount FROM shop.orders ORDER BY order_id;

-- Another default for the rows to come; those that are there keep the one they read.
ALTER TABLE shop.orders ALTER COLUMN discount SET DEFAULT 5.00;
INSERT INTO shop.orders (order_id, product_name, price, category) VALUES (11, 'sled', 65.00, 'sport');
SELECT order_id, discount FROM shop.orders WHERE order_id >= 10 ORDER BY order_id;

-- An update keeps the row's id and raises the sequence number of its last change.
UPDATE shop.orders SET discount = 10.00 WHERE category = 'kitchen';
SELECT order_id, discount, _row_id, _last_updated_sequence_number FROM shop.orders ORDER BY order_id;

-- A merge: orders 3 and 7 change, 12 is new.
MERGE INTO shop.orders AS t
USING (SELECT * FROM (VALUES (3, 7.50), (7, 99.00), (12, 12.00)) AS s(order_id, price)) AS s
ON t.order_id = s.order_id
WHEN MATCHED THEN UPDATE SET price = s.price
WHEN NOT MATCHED THEN INSERT (order_id, product_name, price, category) VALUES (s.order_id, 'scarf', s.price, 'clothes');
SELECT order_id, price, _row_id, _last_updated_sequence_number FROM shop.orders ORDER BY order_id;

-- The past is still there, with the columns it had.
SELECT count(*) AS orders, sum(price) AS total FROM shop.orders;
SELECT count(*) AS orders, sum(price) AS total FROM shop.orders VERSION AS OF 'before_sale';
SELECT * FROM shop.orders.tag_before_sale ORDER BY order_id LIMIT 3;

-- Columns have ids: names, places and types change at any depth, and old files are read by id.
ALTER TABLE shop.orders RENAME COLUMN delivery.city TO town;
ALTER TABLE shop.orders ADD COLUMN delivery.country string FIRST;
ALTER TABLE shop.orders ALTER COLUMN delivery.days TYPE bigint;
ALTER TABLE shop.orders ALTER COLUMN price AFTER order_id;
ALTER TABLE shop.orders ALTER COLUMN price TYPE decimal(12,2);
SELECT * FROM shop.orders ORDER BY order_id;

-- Partitions change for the files to come; queries prune old and new files alike.
ALTER TABLE shop.orders REPLACE PARTITION FIELD category WITH bucket(4, order_id) AS shard;
INSERT INTO shop.orders (order_id, product_name, price, category, delivery)
VALUES (13, 'compass', 29.00, 'sport', {'country': 'NO', 'town': 'Oslo', 'days': 1});
SELECT spec_id, partition, record_count, file_count FROM shop.orders.partitions ORDER BY spec_id, record_count, partition;
SELECT order_id, product_name FROM shop.orders WHERE category = 'sport' ORDER BY order_id;

-- A delete of a whole partition removes files; one of some rows writes vectors.
DELETE FROM shop.orders WHERE category = 'car';
DELETE FROM shop.orders WHERE order_id = 5;
SELECT operation, summary['added-dvs'] AS added_dvs, summary['deleted-data-files'] AS files_removed
FROM shop.orders.snapshots ORDER BY committed_at DESC LIMIT 2;

SHOW CREATE TABLE shop.orders;
