CREATE TABLE api_keys (id text PRIMARY KEY, config_id text NOT NULL,
  name text, start text, reference_id text NOT NULL, prefix text, key text NOT NULL, refill_interval integer,
  refill_amount integer, last_refill_at timestamptz, enabled boolean, rate_limit_enabled boolean,
  rate_limit_time_window integer, rate_limit_max integer, request_count integer, remaining integer,
  last_request timestamptz, expires_at timestamptz, created_at timestamptz NOT NULL, updated_at timestamptz NOT NULL,
  permissions text, metadata text);
--> statement-breakpoint
CREATE INDEX api_keys_key_idx ON api_keys (key);
