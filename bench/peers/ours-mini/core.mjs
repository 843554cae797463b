// W1 to W3: no log, no metric, no span.
import { buildValidatedResponse } from "@trellis/fn/core";
import { defineApiHandler } from "@trellis/fn/validation";
import { accept, health } from "../../lib/app.mjs";
import { OrderSchema } from "./schema.mjs";
import { errorBody } from "../ours/error_body.mjs";

const quiet = { logging: { summary: false }, metrics: false, tracing: false, errorBody };

const W1 = defineApiHandler(quiet)(({ context }) => buildValidatedResponse(context, 200, health()));
const W2 = defineApiHandler({ ...quiet, schema: OrderSchema })(({ body, context }) =>
  buildValidatedResponse(context, 201, accept(body))
);

export const handlers = { W1, W2, W3: W2 };
