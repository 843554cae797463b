import type { SqlSession } from "../../../sql/session.ts";
import type { PermissionStatement } from "../../../database/permissions/permission_statement.ts";
import { readPermissionFiles } from "../../../database/permissions/files.ts";
import { withTempFolder } from "../../support/temp_folder.ts";

/** A session on a real PostgreSQL that notes what it is sent. */
export interface TestSession extends SqlSession {
  /** Statements that were not reads. */
  readonly sent: string[];
  close(): Promise<void>;
}

/** Connects as a role. */
export async function openSession(url: string, role = "postgres"): Promise<TestSession> {
  const { default: postgres } = await import("postgres");
  const client = postgres(url.replace("//postgres@", `//${role}@`), { max: 1, onnotice: () => {} });
  const sent: string[] = [];
  return {
    sent,
    async query(text, params = []): Promise<Record<string, unknown>[]> {
      if (!/^\s*SELECT\b/i.test(text)) sent.push(text);
      return [...await client.unsafe(text, [...params])];
    },
    async script(statements): Promise<void> {
      await client.unsafe(statements.join(";\n"));
    },
    close: () => client.end(),
  };
}

/** Writes files to a folder of their own and reads them. */
export async function readFiles(
  files: Readonly<Record<string, string>>,
  env: Readonly<Record<string, string>> = {},
): Promise<PermissionStatement[]> {
  return await withTempFolder(files, (folder) => readPermissionFiles(folder, env));
}
