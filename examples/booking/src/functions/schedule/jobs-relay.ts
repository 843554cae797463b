import { defineJobRelayHandler } from "@trellis/fn/jobs";
import { getDb } from "../../database.ts";
import "../../mails.ts";

// sends jobs again that the queue lost, and removes old ones from the table
export const handler = defineJobRelayHandler({ getDb });
