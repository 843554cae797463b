// The function that esbuild bundles and the runtime API calls.
import { buildValidatedResponse, defineApiHandler, NotFoundError } from "@trellis/fn";
import { defineScheduleHandler } from "@trellis/fn/triggers";
import * as z from "zod";

export const handler = defineApiHandler({
  schema: z.object({ title: z.string().min(1) }),
})(function createNote({ body, context, metadata }) {
  if (body.title === "gone") throw new NotFoundError("No such note");
  if (body.title === "broken") throw new Error("password=hunter2");
  return buildValidatedResponse(context, 201, { title: body.title, coldStart: metadata.coldStart });
});

/** Not an API: what it throws is for the platform, which tries again. */
export const nightly = defineScheduleHandler()(function nightly({ event }) {
  if (event.id === "bad") throw new Error("the job failed");
  return { done: event.id };
});
