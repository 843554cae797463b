// One function of switches.mjs: answers batches of requests and reports their processor time in microseconds.
import { randomUUID } from "node:crypto";
import { setImmediate as tick } from "node:timers/promises";

/** A module of the harness, into which this folder is copied. */
const inHarness = (path) => new URL(path, import.meta.url).href;
const { createEvent, lambdaContext, listEvent, noteInput, signInEvent, signUpEvent } = await import(
  inHarness("../lib/events.mjs")
);

const { handler } = await import(process.argv[2]);

process.on("disconnect", () => process.exit(0));
const CREATE = {
  list: ({ token }) => listEvent(token),
  create: ({ label, token }, i) => createEvent(token, noteInput(label, i)),
  signIn: ({ email }) => signInEvent(email),
  signUp: () => signUpEvent(`${randomUUID()}@example.com`),
};

process.on("message", async ({ kind, calls, answer, ...sender }) => {
  try {
    const events = Array.from({ length: calls }, (_, i) => CREATE[kind](sender, i));
    for (const { headers } of events) {
      headers["Idempotency-Key"] = randomUUID();
      headers["x-api-key"] = sender.key;
    }
    const before = process.cpuUsage();
    for (const event of events) {
      const { statusCode, body } = await handler(event, lambdaContext());
      if (statusCode >= 300) throw new Error(`${statusCode} ${body}`);
      if (!body.includes(answer)) throw new Error(`no ${answer}: ${body}`);
      await tick();
    }
    const { user, system } = process.cpuUsage(before);
    process.send({ cpu: user + system });
  } catch (error) {
    process.send({ error: String(error?.stack ?? error) });
  }
});
