import { closeDrizzleClient, getDrizzleClient } from "../../database/providers/client.ts";
import type { DatabaseConfig } from "../../database/config/config.ts";
import { sql } from "../../database/orm.ts";
import type { NoteRow, StoredRows } from "./ledger.ts";

/**
 * Reads what the application stored, beside the application: an embedded database must have been closed by it.
 *
 * @param config The database.
 */
export async function readStoredRows(config: DatabaseConfig): Promise<StoredRows> {
  const db = await getDrizzleClient(config);
  async function getRows<Row>(statement: ReturnType<typeof sql>): Promise<Row[]> {
    const result = await db.execute(statement) as unknown;
    return (Array.isArray(result) ? [...result] : (result as { rows: Row[] }).rows) as Row[];
  }
  try {
    const notes = await getRows<NoteRow>(sql`select id, title, body, search from notes`);
    const deliveries = await getRows<{ id: string }>(sql`select delivery_id as id from deliveries`);
    const users = await getRows<{ email: string }>(sql`select email from users`);
    const [{ half }] = await getRows<{ half: number }>(
      sql`select count(*)::int as half from users u where not exists (select 1 from accounts a where a.user_id = u.id)`,
    );
    return {
      notes,
      deliveries: deliveries.map(({ id }) => id),
      emails: users.map(({ email }) => email),
      halfUsers: half,
    };
  } finally {
    await closeDrizzleClient(config);
  }
}
