import { defineApiHandler } from "../../../../../../validation/mod.ts";
import { responseStreaming, streamResponse } from "../../../../../../streaming/mod.ts";

export const handler = defineApiHandler({ streaming: responseStreaming() })(() =>
  streamResponse(listTicks(), { headers: { "Content-Type": "text/plain" } })
);

async function* listTicks(): AsyncGenerator<string> {
  yield "one ";
  yield await Promise.resolve("two");
}
