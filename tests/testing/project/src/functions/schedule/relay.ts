import { defineJobRelayHandler } from "../../../../../../jobs/mod.ts";
import { getDb } from "../../database.ts";
import { jobs } from "../../jobs.ts";

export const handler = defineJobRelayHandler({ getDb, jobs });
