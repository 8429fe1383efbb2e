# SQL and the plan it means, or why it is refused. Made of blocks: the SQL, then `=>` and the plan as tests/sql_text.py
# writes it (table | where | by keys | aggregates | show | having | order | limit), or `=> REFUSED:` and the problem.

# What can be asked

SELECT COUNT(*) FROM visits
=> visits | count=COUNT(*) | show count

select count(*) as n from VISITS;
=> visits | n=COUNT(*) | show n

SELECT COUNT(1) FROM visits
=> visits | count=COUNT(*) | show count

SELECT COUNT(age) FROM visits
=> visits | count_age=COUNT(age) | show count_age

SELECT SUM(cost), AVG(cost), MEAN(age) FROM visits
=> visits | sum_cost=SUM(cost), avg_cost=AVG(cost), avg_age=AVG(age) | show sum_cost, avg_cost, avg_age

SELECT ward, COUNT(*) AS n, AVG(cost) AS c FROM visits GROUP BY ward
=> visits | by ward=ward | n=COUNT(*), c=AVG(cost) | show ward, n, c

SELECT v.ward, COUNT(*) FROM visits AS v GROUP BY v.ward
=> visits | by ward=ward | count=COUNT(*) | show ward, count

SELECT visits.ward, COUNT(*) FROM visits v GROUP BY v.ward
=> visits | by ward=ward | count=COUNT(*) | show ward, count

SELECT Ward, COUNT(*) N FROM Visits WHERE AGE > 3 GROUP BY WARD
=> visits | where (age > 3) | by ward=ward | N=COUNT(*) | show ward, N

SELECT `ward`, COUNT(*) FROM `visits` GROUP BY `ward`
=> visits | by ward=ward | count=COUNT(*) | show ward, count

SELECT "ward", COUNT(*) FROM "visits" GROUP BY "ward"
=> visits | by ward=ward | count=COUNT(*) | show ward, count

FROM visits SELECT COUNT(*)
=> visits | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits -- all of them
=> visits | count=COUNT(*) | show count

SELECT /* how many */ COUNT(*) FROM visits
=> visits | count=COUNT(*) | show count

SELECT ward, smoker, COUNT(*) FROM visits GROUP BY 1, 2
=> visits | by ward=ward, smoker=smoker | count=COUNT(*) | show ward, smoker, count

SELECT ward, smoker, COUNT(*) FROM visits GROUP BY ALL
=> visits | by ward=ward, smoker=smoker | count=COUNT(*) | show ward, smoker, count

SELECT FLOOR(age / 10) AS decade, COUNT(*) FROM visits GROUP BY decade
=> visits | by decade=floor[1]((age * 1/10)) | count=COUNT(*) | show decade, count

SELECT FLOOR(age / 10), COUNT(*) FROM visits GROUP BY FLOOR(age/10)
=> visits | by floor=floor[1]((age * 1/10)) | count=COUNT(*) | show floor, count

SELECT COUNT(*) FROM visits GROUP BY ward
=> visits | by ward=ward | count=COUNT(*) | show count

SELECT COUNT(*), ward FROM visits GROUP BY ward, ward
=> visits | by ward=ward | count=COUNT(*) | show count, ward

SELECT date_trunc('month', day) AS month, COUNT(*) FROM visits GROUP BY month
=> visits | by month=start[month](day) | count=COUNT(*) | show month, count

SELECT date, COUNT(*) FROM visits WHERE date >= '2024-01-01' GROUP BY date
=> visits | where (date >= 2024-01-01) | by date=date | count=COUNT(*) | show date, count

SELECT COUNT(*), COUNT(*) FROM visits
=> visits | count=COUNT(*), count_2=COUNT(*) | show count, count_2

SELECT COUNT(*) AS a, COUNT(*) AS b FROM visits
=> visits | a=COUNT(*), b=COUNT(*) | show a, b

SELECT COUNT_IF(age > 65), COUNTIF(smoker) FROM visits
=> visits | count=COUNT(case((age > 65): 1, null)), count_2=COUNT(case(smoker: 1, null)) | show count, count_2

SELECT COUNT(*) FILTER (WHERE smoker), SUM(cost) FILTER (WHERE age > 65) AS s FROM visits
=> visits | count=COUNT(case(smoker: 1, null)), s=SUM(case((age > 65): cost, null)) | show count, s

SELECT SUM(CASE WHEN smoker THEN cost ELSE 0 END) FROM visits
=> visits | sum=SUM(case(smoker: cost, 0)) | show sum

SELECT SUM(smoker), AVG(age > 18) FROM visits
=> visits | sum=SUM(case(smoker: 1, not smoker: 0, null)), avg=AVG(case((age > 18): 1, not (age > 18): 0, null)) | show sum, avg

SELECT COUNT(NULL) FROM visits
=> visits | count=COUNT(null) | show count

SELECT case when age < 18 then 'child' else 'adult' end as who, count(*) from visits group by who
=> visits | by who=case((age < 18): 'child', 'adult') | count=COUNT(*) | show who, count

SELECT (ward), (COUNT(*)) FROM visits GROUP BY (ward)
=> visits | by ward=ward | count=COUNT(*) | show ward, count

# HAVING, ORDER BY, LIMIT

SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING n > 10
=> visits | by ward=ward | n=COUNT(*) | show ward, n | having (n > 10)

SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING COUNT(*) > 10
=> visits | by ward=ward | n=COUNT(*) | show ward, n | having (n > 10)

SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING AVG(cost) > 10 AND ward IN ('A', 'B')
=> visits | by ward=ward | n=COUNT(*), avg_cost=AVG(cost) | show ward, n | having ((avg_cost > 10) and (ward in 'A', 'B'))

SELECT ward FROM visits GROUP BY ward HAVING COUNT(*) BETWEEN 10 AND 20
=> visits | by ward=ward | count=COUNT(*) | show ward | having ((count >= 10) and (count <= 20))

SELECT ward, SUM(cost) AS s, COUNT(*) AS n FROM visits GROUP BY ward HAVING s - 100 * n > 0 OR NOT n < 5
=> visits | by ward=ward | s=SUM(cost), n=COUNT(*) | show ward, s, n | having (((s - (100 * n)) > 0) or not (n < 5))

SELECT ward, AVG(cost) AS cost FROM visits GROUP BY ward HAVING cost > 100
=> visits | by ward=ward | cost=AVG(cost) | show ward, cost | having (cost > 100)

SELECT FLOOR(age / 10) AS age, COUNT(*) FROM visits GROUP BY 1 HAVING age > 3
=> visits | by age=floor[1]((age * 1/10)) | count=COUNT(*) | show age, count | having (age > 3)

SELECT FLOOR(age / 10) AS f, COUNT(*) FROM visits GROUP BY 1 HAVING FLOOR(age / 10) > 3 AND f IS NOT NULL
=> visits | by f=floor[1]((age * 1/10)) | count=COUNT(*) | show f, count | having ((f > 3) and not (f is null))

SELECT day, COUNT(*) FROM visits GROUP BY day HAVING day >= '2024-02-01'
=> visits | by day=day | count=COUNT(*) | show day, count | having (day >= 2024-02-01)

SELECT ward, COUNT(*) FROM visits GROUP BY ward ORDER BY ward
=> visits | by ward=ward | count=COUNT(*) | show ward, count | order ward

SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY n DESC, 1 ASC NULLS LAST LIMIT 3 OFFSET 1
=> visits | by ward=ward | n=COUNT(*) | show ward, n | order n desc, ward | limit 3 | offset 1

SELECT ward, COUNT(*) FROM visits GROUP BY ward ORDER BY COUNT(*) DESC
=> visits | by ward=ward | count=COUNT(*) | show ward, count | order count desc

SELECT ward, COUNT(*) FROM visits GROUP BY ward ORDER BY count DESC
=> visits | by ward=ward | count=COUNT(*) | show ward, count | order count desc

SELECT ward, COUNT(*) FROM visits GROUP BY ward ORDER BY AVG(cost)
=> visits | by ward=ward | count=COUNT(*), avg_cost=AVG(cost) | show ward, count | order avg_cost

SELECT COUNT(*) FROM visits GROUP BY ward ORDER BY ward
=> visits | by ward=ward | count=COUNT(*) | show count | order ward

SELECT ward, COUNT(*) FROM visits GROUP BY ward LIMIT 2, 5
=> visits | by ward=ward | count=COUNT(*) | show ward, count | limit 5 | offset 2

SELECT ward, COUNT(*) FROM visits GROUP BY ward LIMIT ALL
=> visits | by ward=ward | count=COUNT(*) | show ward, count

SELECT ward, COUNT(*) FROM visits GROUP BY ward LIMIT 0
=> visits | by ward=ward | count=COUNT(*) | show ward, count | limit 0

# Conditions

SELECT COUNT(*) FROM visits WHERE smoker
=> visits | where smoker | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits WHERE NOT smoker AND age >= 18 OR ward = 'A'
=> visits | where ((not smoker and (age >= 18)) or (ward = 'A')) | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits WHERE NOT (smoker OR age <> 18)
=> visits | where not (smoker or (age <> 18)) | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits WHERE age BETWEEN 18 AND 65 AND smoker
=> visits | where (((age >= 18) and (age <= 65)) and smoker) | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits WHERE age NOT BETWEEN 18 AND 65
=> visits | where not ((age >= 18) and (age <= 65)) | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits WHERE ward IN ('A', 'B') AND ward NOT IN ('C')
=> visits | where ((ward in 'A', 'B') and not (ward in 'C')) | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits WHERE ward IS NULL OR smoker IS NOT NULL OR age ISNULL OR age NOTNULL
=> visits | where ((ward is null) or not (smoker is null) or (age is null) or not (age is null)) | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits WHERE smoker IS TRUE OR smoker IS NOT TRUE OR smoker IS FALSE
=> visits | where (coalesce(smoker, false) or not coalesce(smoker, false) or coalesce(not smoker, false)) | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits WHERE age == 3 AND age != 4
=> visits | where ((age = 3) and (age <> 4)) | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits WHERE 18 < age
=> visits | where (18 < age) | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits WHERE smoker = TRUE
=> visits | where (smoker = true) | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits WHERE smoker = 1
=> visits | where (case(smoker: 1, not smoker: 0, null) = 1) | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits WHERE city = 'it''s'
=> visits | where (city = "it's") | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits WHERE TRUE
=> visits | where true | count=COUNT(*) | show count

# Dates and times

SELECT COUNT(*) FROM visits WHERE day = DATE '2024-02-29'
=> visits | where (day = 2024-02-29) | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits WHERE day >= '2024-2-1' AND '2024-03-01' > day
=> visits | where ((day >= 2024-02-01) and (2024-03-01 > day)) | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits WHERE arrived >= TIMESTAMP '2024-01-01 12:30' AND arrived < '2024-01-02T00:00:00.5'
=> visits | where ((arrived >= 2024-01-01T12:30:00) and (arrived < 2024-01-02T00:00:00.500000)) | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits WHERE arrived >= '2024-01-01'
=> visits | where (arrived >= 2024-01-01) | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits WHERE day IN ('2024-01-01', DATE '2024-01-02')
=> visits | where (day in 2024-01-01, 2024-01-02) | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits WHERE EXTRACT(YEAR FROM day) = 2024 AND date_part('month', arrived) = 2 AND YEAR(day) > 2020
=> visits | where ((part[year](day) = 2024) and (part[month](arrived) = 2) and (part[year](day) > 2020)) | count=COUNT(*) | show count

SELECT DAYOFWEEK(day) AS d, COUNT(*) FROM visits GROUP BY d
=> visits | by d=part[dow](day) | count=COUNT(*) | show d, count

SELECT EXTRACT(isodow FROM day), COUNT(*) FROM visits GROUP BY 1
=> visits | by isodow=part[isodow](day) | count=COUNT(*) | show isodow, count

SELECT HOUR(arrived), COUNT(*) FROM visits GROUP BY 1
=> visits | by hour=part[hour](arrived) | count=COUNT(*) | show hour, count

SELECT AVG(day - DATE '2020-01-01') FROM visits
=> visits | avg=AVG((day - 2020-01-01)) | show avg

SELECT AVG(CAST(arrived AS DATE) - day) FROM visits
=> visits | avg=AVG((date(arrived) - day)) | show avg

SELECT date_trunc('week', arrived), COUNT(*) FROM visits GROUP BY 1
=> visits | by week=start[week](arrived) | count=COUNT(*) | show week, count

SELECT DATE(arrived), COUNT(*) FROM visits GROUP BY 1
=> visits | by date=date(arrived) | count=COUNT(*) | show date, count

SELECT COUNT(*) FROM visits WHERE day::timestamp < arrived
=> visits | where (time(day) < arrived) | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits WHERE GREATEST(day, '2024-01-01') = day
=> visits | where (greatest(day, 2024-01-01) = day) | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits WHERE COALESCE(day, arrived) > '2024-01-01'
=> visits | where (coalesce(time(day), arrived) > 2024-01-01) | count=COUNT(*) | show count

# Arithmetic and functions

SELECT SUM(cost * 2 + age - 1) FROM visits
=> visits | sum=SUM((((cost * 2) + age) - 1)) | show sum

SELECT SUM(cost - age - 1), SUM(cost - (age - 1)) FROM visits
=> visits | sum=SUM(((cost - age) - 1)), sum_2=SUM((cost - (age - 1))) | show sum, sum_2

SELECT SUM(-cost) FROM visits
=> visits | sum=SUM((-1 * cost)) | show sum

SELECT SUM(cost / 3) FROM visits
=> visits | sum=SUM((cost * 1/3)) | show sum

SELECT SUM(cost * 60 * 24) FROM visits
=> visits | sum=SUM(((cost * 60) * 24)) | show sum

SELECT SUM(cost * (60 * 24)) FROM visits
=> visits | sum=SUM((cost * 1440)) | show sum

SELECT COUNT(*) FROM visits WHERE age > -5 + 2 * 3 / 4
=> visits | where (age > -7/2) | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits WHERE age < 1e2 AND cost < .5 AND cost < 1_000.25
=> visits | where ((age < 100) and (cost < 1/2) and (cost < 4001/4)) | count=COUNT(*) | show count

SELECT SUM(ABS(age - 50)), SUM(FLOOR(cost)), SUM(CEIL(cost)), SUM(CEILING(cost)) FROM visits
=> visits | sum=SUM(abs((age - 50))), sum_2=SUM(floor[1](cost)), sum_3=SUM(ceil[1](cost)), sum_4=SUM(ceil[1](cost)) | show sum, sum_2, sum_3, sum_4

SELECT SUM(ROUND(cost)), SUM(ROUND(cost, 1)), SUM(ROUND(cost, -2)) FROM visits
=> visits | sum=SUM(round[1](cost)), sum_2=SUM(round[1/10](cost)), sum_3=SUM(round[100](cost)) | show sum, sum_2, sum_3

SELECT SUM(LEAST(age, 100)), SUM(GREATEST(age, 18, 20)) FROM visits
=> visits | sum=SUM(least(age, 100)), sum_2=SUM(greatest(age, 18, 20)) | show sum, sum_2

SELECT SUM(COALESCE(cost, 0)), SUM(IFNULL(cost, 0)) FROM visits
=> visits | sum=SUM(coalesce(cost, 0)), sum_2=SUM(coalesce(cost, 0)) | show sum, sum_2

SELECT AVG(NULLIF(age, 0)) FROM visits
=> visits | avg=AVG(case((age = 0): null, age)) | show avg

SELECT SUM(IF(smoker, cost, 0)), SUM(IIF(smoker, 1, 0)) FROM visits
=> visits | sum=SUM(case(smoker: cost, 0)), sum_2=SUM(case(smoker: 1, 0)) | show sum, sum_2

SELECT SUM(CASE ward WHEN 'A' THEN 1 WHEN 'B' THEN 2 END) FROM visits
=> visits | sum=SUM(case((ward = 'A'): 1, (ward = 'B'): 2, null)) | show sum

SELECT SUM(CAST(cost AS INTEGER)), SUM(cost::bigint), SUM(TRY_CAST(cost AS DECIMAL(10, 1))) FROM visits
=> visits | sum=SUM(round[1](cost)), sum_2=SUM(round[1](cost)), sum_3=SUM(round[1/10](cost)) | show sum, sum_2, sum_3

SELECT SUM(cost::double), SUM(cost::numeric), SUM(CAST(smoker AS INT)) FROM visits
=> visits | sum_cost=SUM(cost), sum_cost_2=SUM(cost), sum=SUM(round[1](case(smoker: 1, not smoker: 0, null))) | show sum_cost, sum_cost_2, sum

SELECT COUNT(*) FROM visits WHERE CAST(age AS BOOLEAN)
=> visits | where (age <> 0) | count=COUNT(*) | show count

SELECT SUM(age + smoker) FROM visits
=> visits | sum=SUM((age + case(smoker: 1, not smoker: 0, null))) | show sum

SELECT SUM(age) FROM visits WHERE age < 10 AND age > '5'
=> REFUSED: > mixes a number and a text

# Refused: what is not answered

SELECT * FROM visits
=> REFUSED: SELECT * asks for the rows themselves

SELECT age FROM visits
=> REFUSED: the query asks for the rows themselves

SELECT DISTINCT ward FROM visits
=> REFUSED: DISTINCT is not answered

SELECT ward FROM visits GROUP BY ward
=> REFUSED: the query groups but counts nothing

SELECT ward, COUNT(*) FROM visits
=> REFUSED: 'ward' is neither grouped nor aggregated

SELECT ward, age, COUNT(*) FROM visits GROUP BY ward
=> REFUSED: 'age' is neither grouped nor aggregated

SELECT COUNT(DISTINCT age) FROM visits
=> REFUSED: DISTINCT is not answered

SELECT MEDIAN(age) FROM visits
=> REFUSED: MEDIAN is not answered yet

SELECT MIN(age) FROM visits
=> REFUSED: MIN is not answered yet

SELECT STDDEV(age) FROM visits
=> REFUSED: STDDEV is not answered yet

SELECT SUM(cost) / COUNT(*) FROM visits
=> REFUSED: 'SUM(cost) / COUNT(*)' computes with aggregates

SELECT ROUND(AVG(cost), 2) FROM visits
=> REFUSED: 'ROUND(AVG(cost), 2)' computes with aggregates

SELECT SUM(COUNT(*)) FROM visits
=> REFUSED: the aggregate 'COUNT(*)' stands in SUM

SELECT COUNT(*) OVER () FROM visits
=> REFUSED: OVER is not answered yet

SELECT COUNT(*) FROM visits v JOIN visits w ON v.age = w.age
=> REFUSED: JOIN is not answered

SELECT COUNT(*) FROM visits, visits w
=> REFUSED: a second table is not answered

SELECT COUNT(*) FROM (SELECT * FROM visits)
=> REFUSED: a sub-query is not answered

SELECT COUNT(*) FROM visits WHERE age IN (SELECT age FROM visits)
=> REFUSED: a sub-query is not answered

WITH t AS (SELECT 1) SELECT COUNT(*) FROM t
=> REFUSED: only SELECT is answered, not WITH

SELECT COUNT(*) FROM visits UNION SELECT COUNT(*) FROM visits
=> REFUSED: UNION is not answered

SELECT COUNT(*) FROM visits; DROP TABLE visits
=> REFUSED: there is more than one statement

DROP TABLE visits
=> REFUSED: only SELECT is answered, not DROP

SELECT COUNT(*) FROM read_csv('/etc/passwd')
=> REFUSED: READ_CSV is not answered yet

SELECT COUNT(*) FROM '/etc/passwd'
=> REFUSED: there is no table '/etc/passwd'

SELECT COUNT(*) FROM nowhere
=> REFUSED: there is no table 'nowhere'

SELECT COUNT(*) FROM main.visits
=> REFUSED: there is no table 'main.visits'

SELECT COUNT(*) FROM visits AS v(a, b)
=> REFUSED: V is not answered yet

SELECT COUNT(*)
=> REFUSED: the query has no FROM

SELECT COUNT(*) FROM visits WHERE city LIKE 'A%'
=> REFUSED: LIKE is not answered

SELECT COUNT(*) FROM visits WHERE LOWER(city) = 'a'
=> REFUSED: LOWER is not answered yet

SELECT COUNT(*) FROM visits WHERE city || 'a' = 'b'
=> REFUSED: || is not answered

SELECT COUNT(*) FROM visits WHERE age // 10 = 1
=> REFUSED: // is not answered

SELECT COUNT(*) FROM visits WHERE age % 10 = 1
=> REFUSED: % is not answered

SELECT COUNT(*) FROM visits WHERE cost / age > 1
=> REFUSED: 'cost / age' does not divide by a constant other than 0

SELECT COUNT(*) FROM visits WHERE age / 0 = 1
=> REFUSED: 'age / 0' does not divide by a constant other than 0

SELECT COUNT(*) FROM visits WHERE day + 1 > '2024-01-01'
=> REFUSED: + is not defined for a date and a number

SELECT COUNT(*) FROM visits WHERE day + INTERVAL 1 DAY > '2024-01-01'
=> REFUSED: INTERVAL is not answered

SELECT COUNT(*) FROM visits WHERE arrived - arrived > 1
=> REFUSED: - is not defined for a timestamp and a timestamp

SELECT COUNT(*) FROM visits WHERE day > CURRENT_DATE
=> REFUSED: CURRENT_DATE is not answered

SELECT COUNT(*) FROM visits WHERE age = NULL
=> REFUSED: = NULL is never true

SELECT COUNT(*) FROM visits WHERE age IN (1, NULL)
=> REFUSED: NULL in an IN list is never equal to anything

SELECT COUNT(*) FROM visits WHERE age IN (age, 1)
=> REFUSED: IN needs a list of constants

SELECT COUNT(*) FROM visits WHERE age = '30'
=> REFUSED: = mixes a number and a text

SELECT COUNT(*) FROM visits WHERE ward = 1
=> REFUSED: = mixes a number and a text

SELECT COUNT(*) FROM visits WHERE ward < 'B'
=> REFUSED: in WHERE: < is not defined for text

SELECT COUNT(*) FROM visits WHERE smoker > FALSE
=> REFUSED: in WHERE: > is not defined for boolean

SELECT COUNT(*) FROM visits WHERE age
=> REFUSED: WHERE needs a condition, not a number

SELECT COUNT(*) FROM visits WHERE NOT age
=> REFUSED: NOT needs a condition, not a number

SELECT COUNT(*) FROM visits WHERE COUNT(*) > 3
=> REFUSED: the aggregate 'COUNT(*)' stands in WHERE

SELECT COUNT(*) AS n FROM visits WHERE n > 3
=> REFUSED: 'n' is a name from SELECT, not a column

SELECT COUNT(*) FROM visits WHERE agee > 3
=> REFUSED: there is no column 'agee'

SELECT COUNT(*) FROM visits WHERE ward = "A"
=> REFUSED: there is no column 'A'

SELECT COUNT(*) FROM visits WHERE w.age > 3
=> REFUSED: there is no table 'w' in FROM

SELECT COUNT(*) FROM visits WHERE day > 'yesterday'
=> REFUSED: 'yesterday' is not a date or time

SELECT COUNT(*) FROM visits WHERE day > '2023-02-29'
=> REFUSED: '2023-02-29' is not a date or time

SELECT COUNT(*) FROM visits WHERE arrived > '2024-01-01 12:00:00+02'
=> REFUSED: '2024-01-01 12:00:00+02' is not a date or time

SELECT COUNT(*) FROM visits WHERE day = DATE '2024-01-01 12:00'
=> REFUSED: '2024-01-01 12:00' is a time, not a date

SELECT COUNT(*) FROM visits WHERE CAST(age AS VARCHAR) = '1'
=> REFUSED: 'CAST(age AS TEXT)' is not answered

SELECT COUNT(*) FROM visits WHERE age IS DISTINCT FROM 3
=> REFUSED: DISTINCT is not answered

SELECT COUNT(*) FROM visits WHERE age IS 3
=> REFUSED: 'age IS 3' is not understood

SELECT COUNT(*) FROM visits WHERE age BETWEEN SYMMETRIC 3 AND 1
=> REFUSED: '(age BETWEEN 3 AND 1 OR age BETWEEN ... is not understood

SELECT COUNT(*) FROM visits WHERE age = 0x1F
=> REFUSED: '0x1F' is not a number

SELECT COUNT(*) FROM visits WHERE age = 1e400
=> REFUSED: in WHERE: a value can be as large as 9e+25 steps of 1

SELECT COUNT(*) FROM visits WHERE age = ?
=> REFUSED: ? is not answered

SELECT COUNT(*) FROM visits WHERE age = $1
=> REFUSED: $ is not answered

SELECT COUNT(*) FROM visits WHERE age IN ()
=> REFUSED: IN needs a list of constants

SELECT COUNT(*) FROM visits WHERE (age, 1) = (1, 1)
=> REFUSED: '(age, 1)' is not understood

SELECT SUM(ward) FROM visits
=> REFUSED: SUM needs a number, not a text

SELECT SUM(day) FROM visits
=> REFUSED: SUM needs a number, not a date

SELECT SUM(NULL) FROM visits
=> REFUSED: SUM needs a number, not NULL

SELECT SUM(cost * cost * cost * cost * cost * cost) FROM visits
=> REFUSED: in SUM: a value can be as large as 9e+25 steps of 1/10000000000

SELECT SUM(CASE WHEN smoker THEN 1 ELSE 'x' END) FROM visits
=> REFUSED: CASE mixes a number and a text

SELECT SUM(ROUND(cost, age)) FROM visits
=> REFUSED: ROUND(x, 2) needs a whole number

SELECT SUM(ROUND(cost, 99)) FROM visits
=> REFUSED: ROUND(x, 2) needs a whole number

SELECT COUNT(*), COUNT(age, cost) FROM visits
=> REFUSED: 'COUNT(age, cost)' does not have one argument

SELECT COUNT(visits.*) FROM visits
=> REFUSED: there is no column '*'

SELECT COUNT(* EXCLUDE (age)) FROM visits
=> REFUSED: EXCLUDE is not answered yet

SELECT ABS(age) FILTER (WHERE smoker), COUNT(*) FROM visits
=> REFUSED: 'ABS(age) FILTER(WHERE smoker)' is not understood

SELECT COUNT(*) FILTER (WHERE age) FROM visits
=> REFUSED: FILTER needs a condition, not a number

SELECT date_trunc('decade', day), COUNT(*) FROM visits GROUP BY 1
=> REFUSED: 'decade' is no period

SELECT date_trunc(day, MONTH), COUNT(*) FROM visits GROUP BY 1
=> REFUSED: there is no column 'MONTH'

SELECT EXTRACT(epoch FROM arrived), COUNT(*) FROM visits GROUP BY 1
=> REFUSED: 'EPOCH' is no part of a date

SELECT YEAR(age), COUNT(*) FROM visits GROUP BY 1
=> REFUSED: YEAR needs a date or a timestamp, not a number

SELECT date_part(day), COUNT(*) FROM visits GROUP BY 1
=> REFUSED: 'DATE_PART(day)' is not understood

SELECT ward, ward AS w, COUNT(*) FROM visits GROUP BY ward
=> REFUSED: 'ward' is selected twice

SELECT COUNT(*) AS n, SUM(age) AS N FROM visits
=> REFUSED: two columns are named 'N'

SELECT COUNT(*) AS "" FROM visits
=> visits | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits GROUP BY 2
=> REFUSED: GROUP BY 2 is not a column of SELECT

SELECT COUNT(*) FROM visits GROUP BY 1
=> REFUSED: the aggregate 'COUNT(*)' stands in GROUP BY

SELECT COUNT(*) FROM visits GROUP BY 'a'
=> REFUSED: GROUP BY "'a'" is a constant

SELECT COUNT(*) FROM visits GROUP BY 1 + 1
=> REFUSED: GROUP BY '1 + 1' is a constant

SELECT ward, COUNT(*) FROM visits GROUP BY ROLLUP (ward)
=> REFUSED: ROLLUP is not answered yet

SELECT ward, COUNT(*) FROM visits GROUP BY CUBE (ward)
=> REFUSED: CUBE is not answered yet

SELECT FLOOR(age / 10) AS age, COUNT(*) FROM visits GROUP BY age
=> REFUSED: 'FLOOR(age / 10)' is neither grouped nor aggregated

SELECT ward, COUNT(*) FROM visits GROUP BY ward HAVING age > 3
=> REFUSED: 'age' is neither grouped nor aggregated

SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING n
=> REFUSED: HAVING needs a condition, not a number

SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING nn > 3
=> REFUSED: there is no column 'nn'

SELECT ward, COUNT(*) FROM visits GROUP BY ward HAVING SUM(cost) / COUNT(*) > 3
=> REFUSED: 'SUM(cost) / COUNT(*)' does not divide by a constant other than 0

SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY n + 1
=> REFUSED: ORDER BY 'n + 1' is not a column of the answer

SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY 3
=> REFUSED: ORDER BY 3 is not a column of SELECT

SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY n NULLS FIRST
=> REFUSED: NULLS FIRST is not answered

SELECT ward, COUNT(*) FROM visits GROUP BY ward ORDER BY ALL
=> REFUSED: ORDER BY 'ALL' is not a column of the answer

SELECT ward, COUNT(*) FROM visits GROUP BY ward LIMIT -1
=> REFUSED: LIMIT -1 is below 0

SELECT ward, COUNT(*) FROM visits GROUP BY ward LIMIT 1.5
=> REFUSED: LIMIT needs a whole number

SELECT ward, COUNT(*) FROM visits GROUP BY ward LIMIT 10%
=> REFUSED: % is not answered

SELECT ward, COUNT(*) FROM visits GROUP BY ward LIMIT age
=> REFUSED: LIMIT needs a whole number

SELECT COUNT(*) FROM visits FETCH FIRST 3 ROWS ONLY
=> REFUSED: FETCH is not answered

SELECT COUNT(*) FROM visits TABLESAMPLE 10%
=> REFUSED: TABLESAMPLE is not answered

SELECT /*+ PARALLEL(4) */ COUNT(*) FROM visits
=> REFUSED: hints are not read

SELECT COUNT(*) FROM visits WHERE age = 'it
=> REFUSED: a quote or comment is not closed

SELECT COUNT(*) FROM visits WHERE (age = 3
=> REFUSED: the query cannot be read at line 1, column 42, near '3'

SELECT COUNT(*) FROM visits WHERE age = = 3
=> REFUSED: the query cannot be read at line 1, column 41, near '='

SELECT COUNT(*) FROM visits WHERE
=> REFUSED: the query cannot be read at line 1, column 33, near 'WHERE'

SELECT COUNT(x) FROM "Odd Name"
=> Odd Name | count_x=COUNT(x) | show count_x

SELECT COUNT(X) FROM "Odd Name" WHERE x = 1
=> Odd Name | where (x = 1) | count_X=COUNT(X) | show count_X

SELECT DATE(DATE(arrived)), COUNT(*) FROM visits GROUP BY 1
=> REFUSED: DATE stands inside DATE

SELECT COALESCEE(age, 1), COUNT(*) FROM visits GROUP BY 1
=> REFUSED: COALESCEE is not answered yet

SELECT INT(age), COUNT(*) FROM visits GROUP BY 1
=> REFUSED: INT is not answered yet

SELECT 1, COUNT(*) FROM visits
=> REFUSED: '1' is neither grouped nor aggregated

-- nothing
=> REFUSED: the query is empty

SELECT date_trunc('month', day) AS day, COUNT(*) FROM visits GROUP BY day
=> REFUSED: "DATE_TRUNC('MONTH', day)" is neither grouped nor aggregated

# More corners

SELECT age + 1, COUNT(*) FROM visits GROUP BY 1
=> visits | by key=(age + 1) | count=COUNT(*) | show key, count

SELECT COUNT(*) FROM visits LIMIT 5 BY ward
=> REFUSED: this LIMIT is not answered

SELECT SUM(COALESCE(NULL, NULL)) FROM visits
=> REFUSED: SUM needs a number, not NULL

SELECT SUM(age + TRUE) FROM visits
=> visits | sum=SUM((age + 1)) | show sum

SELECT COUNT(*) FROM visits WHERE 1e300 * 1e300 = age
=> REFUSED: a constant is too large

SELECT COUNT(*) FROM visits WHERE COALESCE(arrived, DATE '2024-01-01') < '2024-01-02'
=> visits | where (coalesce(arrived, 2024-01-01T00:00:00) < 2024-01-02) | count=COUNT(*) | show count

SELECT SUM(CASE WHEN smoker THEN NULL ELSE age END) FROM visits
=> visits | sum=SUM(case(smoker: null, age)) | show sum

SELECT COUNT(*) FROM visits WHERE age = 3 = smoker
=> visits | where ((age = 3) = smoker) | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits WHERE smoker = (age > 3) IS TRUE
=> visits | where coalesce((smoker = (age > 3)), false) | count=COUNT(*) | show count

SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING COUNT(*) FILTER (WHERE smoker) > 0.5 * n
=> visits | by ward=ward | n=COUNT(*), count=COUNT(case(smoker: 1, null)) | show ward, n | having (count > (1/2 * n))

SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING visits.ward = 'A' ORDER BY visits.ward
=> visits | by ward=ward | n=COUNT(*) | show ward, n | having (ward = 'A') | order ward

SELECT smoker, COUNT(*) AS n FROM visits GROUP BY smoker HAVING smoker OR n > 5
=> visits | by smoker=smoker | n=COUNT(*) | show smoker, n | having (smoker or (n > 5))

SELECT MEAN(cost, age) FROM visits
=> REFUSED: 'MEAN(cost, age)' does not have one argument

SELECT COUNT(*) FROM visits WHERE day > TIMESTAMP '2024-01-01'
=> visits | where (day > 2024-01-01T00:00:00) | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits WHERE CAST('2024-01-31 10:00' AS TIMESTAMP) < arrived
=> visits | where (2024-01-31T10:00:00 < arrived) | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits WHERE age::DECIMAL(5) = 1
=> visits | where (round[1](age) = 1) | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits WHERE day - '2020-01-01' > 7
=> visits | where ((day - 2020-01-01) > 7) | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits WHERE DATE '2024-03-01' - DATE '2024-02-01' = 29
=> visits | where (29 = 29) | count=COUNT(*) | show count

SELECT Count(*) FROM visits WHERE Age>=18AND age<=65
=> visits | where ((age >= 18) and (age <= 65)) | count=COUNT(*) | show count

