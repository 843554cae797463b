import { defineScheduleHandler } from "@trellis/fn/triggers";
import { logInfo } from "@trellis/fn/observability";
import { expireRequests } from "../../queries/bookings.ts";

export const handler = defineScheduleHandler()(async function expire({ scheduledTime }) {
  logInfo("requests expired", { count: await expireRequests(scheduledTime) });
});
