-- Which carriers left New York late in 2013? Late: a quarter of an hour or more.
SELECT carrier,
       count(*) AS departures,
       count(*) FILTER (WHERE dep_delay >= 15) AS late,
       round(100.0 * count(*) FILTER (WHERE dep_delay >= 15) / count(*), 1) AS percent_late,
       round(avg(dep_delay), 1) AS average_delay_minutes,
       max(dep_delay) AS longest_delay_minutes
FROM demo.flights
GROUP BY carrier
ORDER BY percent_late DESC, carrier;
