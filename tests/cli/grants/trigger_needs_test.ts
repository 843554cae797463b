import { assertEquals } from "@std/assert";
import { loadSqlReader } from "../../../cli/grants/sql_access.ts";
import { printTable } from "../../../cli/grants/table_name.ts";
import { listTriggerNeeds, readTriggers } from "../../../cli/grants/trigger_needs.ts";
import { DatabaseOperation } from "../../../database/queries/table_permission.ts";

const { Select, Insert, Update } = DatabaseOperation;

const MIGRATIONS = [
  `CREATE FUNCTION log() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN DELETE FROM old; RETURN NEW; END $$;
  CREATE TRIGGER log AFTER INSERT OR UPDATE ON notes FOR EACH ROW EXECUTE FUNCTION log();
  CREATE FUNCTION owned() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
    INSERT INTO secrets VALUES (1); RETURN NEW; END $$;
  CREATE TRIGGER owned BEFORE INSERT ON public.notes FOR EACH ROW EXECUTE FUNCTION owned();
  CREATE TRIGGER gone AFTER DELETE ON notes FOR EACH ROW EXECUTE FUNCTION log();`,
  `DROP TRIGGER gone ON notes;
  -- statements that PostgreSQL does not know are skipped
  CREATE INDEX ASYNC trigger ON notes (id);
  CREATE OR REPLACE FUNCTION public.log() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF EXISTS (SELECT 1 FROM settings) THEN INSERT INTO app.audit (id) VALUES (nextval('ids')); END IF;
    RETURN NEW; END $$;
  CREATE FUNCTION app.count() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    EXECUTE 'UPDATE counts SET n = n + 1'; RETURN NULL; END $$;
  CREATE TRIGGER count AFTER INSERT ON app.audit EXECUTE FUNCTION app.count();`,
];

Deno.test("listTriggerNeeds() lists what triggers of changed tables need, also of each other", async () => {
  const triggers = await readTriggers(MIGRATIONS, await loadSqlReader());
  const list = (...operations: DatabaseOperation[]) => {
    const needs = listTriggerNeeds(triggers, [{
      table: { name: "notes" },
      operations,
      reason: "",
    }]);
    return [
      needs.tables.map(({ table, operations }) => `${printTable(table)} ${operations}`),
      needs.sequences.map(({ sequence, reason }) => `${printTable(sequence)}: ${reason}`),
      needs.unknown.map(({ name }) => name),
    ];
  };
  assertEquals(list(Select, DatabaseOperation.Delete), [[], [], []]);
  for (const operation of [Insert, Update, DatabaseOperation.All]) {
    assertEquals(list(operation), [
      ["settings SELECT", "app.audit INSERT"],
      ["ids: trigger log of notes"],
      ["count"],
    ], operation);
  }
});
