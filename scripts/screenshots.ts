#!/usr/bin/env -S deno run -A
// deno-lint-ignore-file no-console
/**
 * Takes the pictures of the local page for the documentation: serves a small project, sends requests
 * to it, and opens the page in a browser (`$CHROME_PATH`, or an installed one).
 *
 *   deno run -A scripts/screenshots.ts
 */
import { fileURLToPath } from "node:url";
import type { Page } from "puppeteer-core";
import { JOBS_MIGRATION_SQL } from "../jobs/migration.ts";
import { createTestProject } from "../tests/cli/dev/fixtures/project.ts";
import { launchBrowser } from "../tests/support/browser.ts";
import { WORKFLOWS_MIGRATION_SQL } from "../workflows/migration.ts";

const FIGURES = new URL("../docs/figures/", import.meta.url);

const PROJECT = {
  "package.json": '{ "name": "notes", "type": "module" }',
  "migrations/0001_notes.sql": `create table notes (id int primary key, title text not null);
    create table tags (note_id int references notes, name text not null);
    insert into notes values (1, 'Milk'), (2, 'Bread'), (3, 'Call Ada'), (4, 'Book the train');
    insert into tags values (1, 'shopping'), (2, 'shopping'), (4, 'travel');`,
  "migrations/0002_jobs.sql": JOBS_MIGRATION_SQL,
  "migrations/0003_workflows.sql": WORKFLOWS_MIGRATION_SQL,
  "src/database.ts": `import { createQueryFactory, getDrizzleClient } from "@trellis/fn/database";
import { getRequiredEnv } from "@trellis/fn/env";
export { DatabaseOperation } from "@trellis/fn/database";
export const getDb = () =>
  getDrizzleClient({ provider: "embedded-pg", connectionString: getRequiredEnv("DATABASE_URL") });
export const { defineQuery } = createQueryFactory(getDb);`,
  "src/jobs.ts": `import { defineJob } from "@trellis/fn/jobs";
import { logInfo } from "@trellis/fn/observability";
import * as z from "zod";
let attempts = 0;
export const remind = defineJob({
  name: "remind",
  schema: z.object({ title: z.string() }),
  retry: { maxAttempts: 2, baseDelaySeconds: 1, maxDelaySeconds: 1 },
})(async function remind({ payload }) {
  if (payload.title === "Bread") throw new Error("The mailbox does not exist");
  if (attempts++ === 0) throw new Error("The mail server is busy");
  logInfo("reminder sent");
});`,
  "src/workflows.ts": `import { defineWorkflow } from "@trellis/fn/workflows";
import * as z from "zod";
export const ship = defineWorkflow({ name: "ship", input: z.object({ title: z.string() }) })(
  async function ship({ step, sleep, input }) {
    await sleep(1);
    return await step("print label", () => ({ label: input.title }));
  },
);
let attempts = 0;
export const order = defineWorkflow({ name: "order", input: z.object({ title: z.string() }) })(
  async function order({ step, waitFor, child, input }) {
    await step("reserve", { undo: () => {} }, () => input.title);
    const retry = { maxAttempts: 3, baseDelaySeconds: 1, maxDelaySeconds: 1 };
    await step("send bill", { retry, undo: () => {} }, () => {
      if (attempts++ === 0) throw new Error("The mail server is busy");
    });
    const paid = await waitFor("paid", { timeoutSeconds: 86400, schema: z.object({ cents: z.number() }) });
    const shipped = await child(ship, input);
    return { ...paid, ...shipped };
  },
);`,
  "src/functions/api/orders.post.ts":
    `import { defineApiHandler, reply } from "@trellis/fn/validation";
import * as z from "zod";
import { getDb } from "../../database.ts";
import { order } from "../../workflows.ts";
export const handler = defineApiHandler({ schema: z.object({ title: z.string() }) })(
  async function postOrder({ body }) {
    await order.start(await getDb(), body);
    return reply(202);
  },
);
`,
  "src/functions/schedule/jobs_relay.ts": `import { defineJobRelayHandler } from "@trellis/fn/jobs";
import { getDb } from "../../database.ts";
import { remind } from "../../jobs.ts";
import { order, ship } from "../../workflows.ts";
export const handler = defineJobRelayHandler({ getDb, jobs: [remind, order.job, ship.job] });`,
  "src/functions/api/reminders.post.ts":
    `import { defineApiHandler, reply } from "@trellis/fn/validation";
import * as z from "zod";
import { getDb } from "../../database.ts";
import { remind } from "../../jobs.ts";
export const handler = defineApiHandler({ schema: z.object({ title: z.string() }) })(
  async function postReminder({ body }) {
    await remind.enqueue(await getDb(), body);
    return reply(202);
  },
);
`,
  "src/functions/api/notes.get.ts": `import { sql } from "@trellis/fn/database/orm";
import { logInfo } from "@trellis/fn/observability";
import { defineApiHandler, reply } from "@trellis/fn/validation";
import * as z from "zod";
import { DatabaseOperation, defineQuery } from "../../database.ts";
const listNotes = defineQuery({ tables: [{ table: "notes", operations: [DatabaseOperation.Select] }] }, async function listNotes(db) {
  return (await db.execute(sql\`select id, title from notes order by id\`)).rows as { id: number; title: string }[];
});
const listTags = defineQuery({ tables: [{ table: "tags", operations: [DatabaseOperation.Select] }] }, async function listTags(db, id: number) {
  return (await db.execute(sql\`select name from tags where note_id = \${id}\`)).rows as { name: string }[];
});
const Note = z.object({ id: z.number(), title: z.string(), tags: z.array(z.string()) });
export const handler = defineApiHandler({ responses: { 200: z.array(Note) } })(async function getNotes() {
  const notes: z.infer<typeof Note>[] = [];
  for (const note of await listNotes()) {
    notes.push({ ...note, tags: (await listTags(note.id)).map(({ name }) => name) });
  }
  logInfo("notes listed", { count: notes.length });
  return reply(200, notes);
});
`,
  "src/functions/api/notes.post.ts": `import { sql } from "@trellis/fn/database/orm";
import { defineApiHandler, reply } from "@trellis/fn/validation";
import * as z from "zod";
import { DatabaseOperation, defineQuery } from "../../database.ts";
const addNote = defineQuery({ tables: [{ table: "notes", operations: [DatabaseOperation.Insert] }] }, async function addNote(db, title: string) {
  await db.execute(sql\`insert into notes select max(id) + 1, \${title} from notes\`);
});
export const handler = defineApiHandler({ schema: z.object({ title: z.string().min(1) }) })(
  async function postNote({ body }) {
    await addNote(body.title);
    return reply(201);
  },
);
`,
};

/** Opens the last request of the list. */
async function showRequest(page: Page): Promise<void> {
  await page.waitForFunction(`document.querySelectorAll("#calls li").length >= 4`);
  await page.click("#calls li button");
  await page.waitForSelector("#calls .detail .list");
}

/** Opens a table, and a value of it for a change. */
async function showTable(page: Page): Promise<void> {
  await page.click("#tab-data");
  await (await page.waitForSelector(".tables button"))!.click();
  await (await page.waitForSelector('button[aria-label="Change title: Bread"]'))!.click();
}

/** Enqueues jobs, and opens the retried one when all have ended. */
async function showJobs(page: Page): Promise<void> {
  await page.evaluate(async () => {
    for (const title of ["Milk", "Bread", "Call Ada"]) {
      const body = JSON.stringify({ title });
      const headers = { "Content-Type": "application/json" };
      await fetch("/reminders", { method: "POST", headers, body });
    }
  });
  await page.click("#tab-jobs");
  await page.waitForFunction(
    `[...document.querySelectorAll("#panel-jobs .badge")].map((each) => each.textContent).sort().join() === "dead,done,done"`,
  );
  await page.click("#panel-jobs li:last-child .row");
  await page.waitForSelector("#panel-jobs .detail .spans");
}

/** Starts workflows, pays and cancels one each, and opens the paid one, which has a child. */
async function showWorkflows(page: Page): Promise<void> {
  await page.evaluate(async () => {
    for (const title of ["Milk", "Bread", "Call Ada"]) {
      const headers = { "Content-Type": "application/json" };
      const body = JSON.stringify({ title });
      await fetch("/orders", { method: "POST", headers, body });
    }
  });
  await page.click("#tab-workflows");
  const item = (at: string) => `#panel-workflows .list > li:${at}`;
  await page.waitForSelector(`${item("last-child")} .sign-in`);
  await page.click(`${item("nth-last-child(2)")} .sign-in`);
  await page.waitForFunction(
    `document.querySelectorAll("#panel-workflows .badge").length === 3 && [...document.querySelectorAll("#panel-workflows .badge")].some((each) => each.textContent === "cancelled")`,
  );
  await page.click(`${item("last-child")} .row`);
  await page.waitForFunction(
    `document.querySelector("#panel-workflows input[type=text]")?.value === "paid"`,
  );
  await page.type("#panel-workflows textarea", '{ "cents": 250 }');
  await page.click("#panel-workflows form .primary");
  await page.waitForFunction(
    `[...document.querySelectorAll("#panel-workflows .badge")].map((each) => each.textContent).sort().join() === "cancelled,done,done,running"`,
  );
  await page.waitForFunction(
    `document.querySelector("#panel-workflows .detail:not([hidden])").textContent.includes("Output")`,
  );
  await page.evaluate("scrollTo(0, 0)");
}

const PICTURES = [
  ["local_page", 860, showRequest],
  ["local_table", 480, showTable],
  ["local_jobs", 620, showJobs],
  ["local_workflows", 820, showWorkflows],
] as const;

const project = await createTestProject(PROJECT);
const browser = await launchBrowser();
try {
  const { url } = await project.start({ database: "embedded", port: 8787 });
  const post = async (title: string) => {
    const headers = { "Content-Type": "application/json" };
    const body = JSON.stringify({ title });
    await (await fetch(`${url}/notes`, { method: "POST", headers, body })).body?.cancel();
  };
  for (const title of ["Water the plants", ""]) await post(title);
  for (let i = 0; i < 2; i++) await (await fetch(`${url}/notes`)).body?.cancel();
  for (const [name, height, show] of PICTURES) {
    const page = await browser.newPage();
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "light" }]);
    await page.setViewport({ width: 1200, height });
    await page.goto(`${url}/_trellis`, { waitUntil: "domcontentloaded" });
    await show(page);
    await page.screenshot({
      path: fileURLToPath(new URL(`${name}.png`, FIGURES)) as `${string}.png`,
    });
    console.log(`wrote docs/figures/${name}.png`);
  }
} finally {
  await browser.close();
  await project.clean();
}
