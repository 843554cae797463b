/** Bucket of the states. */
export const STATES = "app-states";

/** Files that make a project of `trellis init --template api` one with PostgreSQL by address and a function of every kind. */
export function listProjectFiles(): Readonly<Record<string, string>> {
  return {
    "trellis.config.ts": `import { defineConfig } from "@trellis/fn/cli";

export default defineConfig({
  infra: {
    projectName: "app",
    region: "eu-central-1",
    state: { bucket: "${STATES}", region: "eu-central-1" },
    release: { percent: 10, minutes: 1 },
    stages: { dev: { variables: { manage_api_gateway_account: true } } },
    functions: {
      Happened: { bus: "domain", pattern: { "detail-type": ["note.wanted"] } },
      Tick: { schedule: "rate(1 minute)" },
      Stored: { bucket: "files" },
    },
    buses: { domain: {} },
    buckets: { files: {} },
  },
  build: { precompile: true },
});
`,
    "src/database.ts": DATABASE,
    "src/functions/api/health.get.ts": renderHealth("first"),
    "src/functions/queue/queued.ts": renderConsumer("Queue", "body", "body.title"),
    "src/functions/topic/told.ts": renderConsumer("Topic", "message", "message.title"),
    "src/functions/event/happened.ts": renderConsumer("Event", "detail", "detail.title"),
    "src/functions/schedule/tick.ts": renderConsumer(
      "Schedule",
      "scheduledTime",
      "`tick ${scheduledTime.toISOString()}`",
    ),
    "src/functions/storage/stored.ts": renderConsumer("Storage", "key", "key"),
  };
}

/** The recipe of docs/guides/database.md. */
const DATABASE = `import { createQueryFactory, getDrizzleClient } from "@trellis/fn/database";
import { getRequiredEnv, loadSources } from "@trellis/fn/env";
import * as schema from "./schema.ts";

await loadSources();

export const getDb = () =>
  getDrizzleClient({ provider: "postgres", connectionString: getRequiredEnv("DATABASE_URL"), schema });

export const { defineQuery, defineStatement } = createQueryFactory(getDb);
`;

/**
 * Renders a health route that asks the database.
 *
 * @param release What it answers, to tell versions apart.
 */
export function renderHealth(release: string): string {
  return `import { defineApiHandler, reply } from "@trellis/fn/validation";
import * as z from "zod";
import { listNotes } from "../../queries/notes.ts";

export const handler = defineApiHandler({ responses: { 200: z.object({ release: z.string() }) } })(async () => {
  await listNotes({ limit: 1 });
  return reply(200, { release: "${release}" });
});
`;
}

/** Renders a function that creates a note for each message. */
function renderConsumer(kind: string, parameter: string, title: string): string {
  const hasSchema = title === `${parameter}.title`;
  return `import { define${kind}Handler } from "@trellis/fn/triggers";
import * as z from "zod";
import { createNote } from "../../queries/notes.ts";

export const handler = define${kind}Handler(${
    hasSchema ? "{ schema: z.object({ title: z.string() }) }" : ""
  })(async ({ ${parameter} }) => {
  await createNote({ title: ${title}, body: "" });
});
`;
}
