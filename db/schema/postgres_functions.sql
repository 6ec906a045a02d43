-- SQLite's functions that statements of Podium call, so that one text runs on both databases, and the triggers. Written
-- into a PostgreSQL database when it is created, and again when it is upgraded. All functions but those of triggers are
-- inlined into the statements that call them.

-- The elements of a list of integers, such as ids, with their positions.
CREATE OR REPLACE FUNCTION json_each(list text) RETURNS TABLE (key bigint, value bigint)
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$ SELECT position - 1, element::bigint FROM json_array_elements_text(list::json) WITH ORDINALITY AS e(element, position) $$;

-- What a path such as `$.limits.grace_s` or `$[0]` leads to.
CREATE OR REPLACE FUNCTION json_part(document text, path text) RETURNS json
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$ SELECT document::json #> array_remove(string_to_array(translate(substr(path, 2), '[]', '.'), '.'), '') $$;

CREATE OR REPLACE FUNCTION json_type(document text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
        SELECT CASE json_typeof(document::json)
            WHEN 'string' THEN 'text'
            WHEN 'boolean' THEN trim(document)
            WHEN 'number' THEN CASE WHEN document ~ '[.eE]' THEN 'real' ELSE 'integer' END
            ELSE json_typeof(document::json)
        END
    $$;

CREATE OR REPLACE FUNCTION json_type(document text, path text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT json_type(json_part(document, path)::text) $$;

-- As text, whatever its type; NULL if it is null or not there.
CREATE OR REPLACE FUNCTION json_extract(document text, path text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT json_part(document, path) #>> '{}' $$;

CREATE OR REPLACE FUNCTION json_array_length(document text, path text) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT json_array_length(json_part(document, path))::bigint $$;

-- Unlike PostgreSQL's greatest and least, NULL if one of two is NULL.
CREATE OR REPLACE FUNCTION max(a bigint, b bigint) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT CASE WHEN a >= b THEN a WHEN a < b THEN b END $$;

CREATE OR REPLACE FUNCTION max(a double precision, b double precision) RETURNS double precision
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT CASE WHEN a >= b THEN a WHEN a < b THEN b END $$;

CREATE OR REPLACE FUNCTION min(a bigint, b bigint) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT CASE WHEN a <= b THEN a WHEN a > b THEN b END $$;

CREATE OR REPLACE FUNCTION min(a double precision, b double precision) RETURNS double precision
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT CASE WHEN a <= b THEN a WHEN a > b THEN b END $$;

-- A list as JSON text, with every digit of its numbers.
CREATE OR REPLACE FUNCTION json_text(list anycompatiblearray) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE AS $$ SELECT array_to_json(list)::text $$;

CREATE OR REPLACE AGGREGATE json_group_array(anycompatible) (
    sfunc = array_append, stype = anycompatiblearray, initcond = '{}', finalfunc = json_text
);

-- Called for 17 digits where SQLite prints fewer digits of a number as JSON: PostgreSQL prints all of them.
CREATE OR REPLACE FUNCTION printf(format text, value double precision) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT value::text $$;

-- The elements of a list of strings: `json_each` has those of integers.
CREATE OR REPLACE FUNCTION json_strings(list text) RETURNS TABLE (key bigint, value text)
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$ SELECT position - 1, element FROM json_array_elements_text(list::json) WITH ORDINALITY AS e(element, position) $$;

-- JSON text as a part of JSON.
CREATE OR REPLACE FUNCTION "json"(document text) RETURNS json
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT document::json $$;

-- The day of a moment, with the fraction of the day that has passed; of `now` at the start of the statement.
CREATE OR REPLACE FUNCTION julianday(moment text) RETURNS double precision
    LANGUAGE sql STABLE PARALLEL SAFE
    AS $$ SELECT extract(epoch FROM CASE moment WHEN 'now' THEN statement_timestamp() ELSE moment::timestamptz END) / 86400 + 2440587.5 $$;

CREATE OR REPLACE FUNCTION round(value double precision, digits integer) RETURNS double precision
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT round(value::numeric, digits)::double precision $$;

CREATE OR REPLACE FUNCTION round(value double precision, digits bigint) RETURNS double precision
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT round(value::numeric, digits::integer)::double precision $$;

-- Tells the api that a transaction with events was committed: see `Database.on_events`.
CREATE OR REPLACE FUNCTION podium_notify_events() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN PERFORM pg_notify('podium_events', ''); RETURN NULL; END $$;

CREATE OR REPLACE TRIGGER podium_notify_events AFTER INSERT ON events
    FOR EACH STATEMENT EXECUTE FUNCTION podium_notify_events();

-- `trial_counts`: the number of trials of a sweep by state. Rows are locked in the order of their key.
CREATE OR REPLACE FUNCTION count_new_trials() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO trial_counts (sweep_id, state, count)
            SELECT sweep_id, state, count(*) FROM added GROUP BY sweep_id, state ORDER BY sweep_id, state
            ON CONFLICT (sweep_id, state) DO UPDATE SET count = trial_counts.count + excluded.count;
        RETURN NULL;
    END
    $$;

CREATE OR REPLACE FUNCTION count_changed_trials() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO trial_counts (sweep_id, state, count)
            SELECT sweep_id, state, sum(one) FROM (
                SELECT sweep_id, state, 1 AS one FROM added UNION ALL SELECT sweep_id, state, -1 FROM removed
            ) AS changed GROUP BY sweep_id, state HAVING sum(one) <> 0 ORDER BY sweep_id, state
            ON CONFLICT (sweep_id, state) DO UPDATE SET count = trial_counts.count + excluded.count;
        RETURN NULL;
    END
    $$;

CREATE OR REPLACE FUNCTION count_deleted_trials() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO trial_counts (sweep_id, state, count)
            SELECT sweep_id, state, -count(*) FROM removed GROUP BY sweep_id, state ORDER BY sweep_id, state
            ON CONFLICT (sweep_id, state) DO UPDATE SET count = trial_counts.count + excluded.count;
        RETURN NULL;
    END
    $$;

CREATE OR REPLACE TRIGGER count_new_trials AFTER INSERT ON trials
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION count_new_trials();
CREATE OR REPLACE TRIGGER count_changed_trials AFTER UPDATE ON trials
    REFERENCING NEW TABLE AS added OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION count_changed_trials();
CREATE OR REPLACE TRIGGER count_deleted_trials AFTER DELETE ON trials
    REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION count_deleted_trials();
