import { z } from "zod";
import { defineApiHandler } from "/work/main/validation/mod.ts";
import { createRestApiEvent, createHttpApiEvent, createAlbEvent, createLambdaContext } from "/work/main/testing/mod.ts";
import { setLogOutput } from "/work/main/observability/mod.ts";
setLogOutput(()=>{});
const ctx = createLambdaContext({remainingMs: 600000} as never);
async function t(name: string, schema: any, body: string) {
  const h = defineApiHandler({ schema })(() => ({ statusCode: 200, body: "" }));
  const ev = createRestApiEvent({ method: "POST", headers: {"Content-Type":"application/json"} }); ev.body = body;
  const s = performance.now();
  const r = await h(ev, ctx);
  console.log(name, body.length, "->", r.statusCode, (r.body as string)?.length, (performance.now()-s|0)+"ms", Deno.memoryUsage().heapUsed/1e6|0, (r.body as string).slice(0,150));
}
await t("3M wrong", z.object({ items: z.array(z.string()) }), `{"items":[${Array(Number(Deno.args[0])).fill(1).join(",")}]}`);
