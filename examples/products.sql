-- A first look at an Iceberg v3 table: rows, a delete through a deletion vector, row ids, snapshots.
--     frazil sql -f examples/products.sql
CREATE NAMESPACE IF NOT EXISTS shop;
DROP TABLE IF EXISTS shop.products;

CREATE TABLE shop.products (
  id       BIGINT NOT NULL,
  name     STRING,
  category STRING,
  price    DECIMAL(10, 2),
  added    TIMESTAMP
) USING iceberg
TBLPROPERTIES ('format-version' = '3');

INSERT INTO shop.products VALUES
  (1, 'skates',      'sport',   89.90, TIMESTAMP '2026-01-05 09:00:00'),
  (2, 'thermos',     'kitchen', 24.50, TIMESTAMP '2026-01-06 10:30:00'),
  (3, 'ice scraper', 'car',      6.95, TIMESTAMP '2026-01-06 11:00:00'),
  (4, 'wool hat',    'clothes', 19.00, TIMESTAMP '2026-01-07 08:15:00');

-- Row ids are the table's own: no column holds them, every engine that reads v3 shows the same.
SELECT _row_id, id, name, price FROM shop.products ORDER BY id;

-- The row stays in its data file; a vector says that it is gone.
DELETE FROM shop.products WHERE id = 3;

SELECT category, count(*) AS products, avg(price) AS average_price FROM shop.products GROUP BY category ORDER BY category;

-- content 0 is a data file, content 1 a deletion vector in a Puffin file.
SELECT content, file_format, record_count, referenced_data_file IS NOT NULL AS is_vector FROM shop.products.files ORDER BY content;

SELECT operation, summary['added-records'] AS added, summary['added-dvs'] AS vectors FROM shop.products.snapshots ORDER BY committed_at;
