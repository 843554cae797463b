/**
 * What a run of migrations does before it speaks to the database: reading, hashing and planning 200 files.
 *
 *   deno bench -A bench/migrations_bench.ts
 */
import { rmSync } from "node:fs";
import { planMigrations } from "../database/migrations/plan.ts";
import { planSteps } from "../database/migrations/steps.ts";
import { readMigrationFiles } from "../database/migrations/folder.ts";
import { writeMigrations } from "./scale/migrations.ts";

const folder = writeMigrations(200);
const files = readMigrationFiles(folder);
const pending = new Set(files.map(({ tag }) => tag));
const applied = files.map(({ tag, hash }) => ({
  tag,
  hash,
  appliedAt: new Date(0),
  executed: true,
}));

Deno.bench("readMigrationFiles, 200 files", () => void readMigrationFiles(folder));
Deno.bench(
  "planMigrations, all applied",
  () => void planMigrations({ files, hasJournal: false, unlisted: [] }, applied),
);
Deno.bench("planSteps for PostgreSQL", () => void planSteps(files, pending, "serverless-pg", {}));
Deno.bench("planSteps for distsql", () => void planSteps(files, pending, "distsql", {}));

globalThis.addEventListener("unload", () => rmSync(folder, { recursive: true }));
