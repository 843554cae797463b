// Guesses the password of one account from many addresses, and prints how often each status came.
import { createAuth, createAuthHandler } from "../../auth/mod.ts";
import { closeDrizzleClient, type DatabaseConfig, getDrizzleClient } from "../../database/mod.ts";
import { setLogOutput } from "../../observability/mod.ts";
import { createHttpApiEvent, createLambdaContext } from "../../testing/mod.ts";
import { FAST_PASSWORDS } from "./fast_passwords.ts";

setLogOutput(() => {});
const { database, email, secret, first, addresses } = JSON.parse(Deno.args[0]) as {
  database: DatabaseConfig;
  email: string;
  secret: string;
  first: number;
  addresses: number;
};
const together = database.maxConnections ?? 1;
const db = await getDrizzleClient(database);
// opens the connections, so that guesses meet
await Promise.all(Array.from({ length: together }, () => db.execute("SELECT pg_sleep(0.2)")));
const auth = createAuth(db, {
  secret,
  baseURL: "https://api.example.com",
  emailAndPassword: { enabled: true, password: FAST_PASSWORDS },
});
const handler = createAuthHandler(() => auth);

async function guess(address: number): Promise<number> {
  const event = createHttpApiEvent({
    method: "POST",
    path: "/api/auth/sign-in/email",
    body: { email, password: `guess ${address}` },
  });
  const sourceIp = `10.1.${address >> 8}.${address & 255}`;
  const http = { ...event.requestContext.http, sourceIp };
  const sent = { ...event, requestContext: { ...event.requestContext, http } };
  return (await handler(sent, createLambdaContext())).statusCode;
}

const counts: Record<number, number> = {};
for (let at = 0; at < addresses; at += together) {
  const batch = Array.from(
    { length: Math.min(together, addresses - at) },
    (_, i) => guess(first + at + i),
  );
  for (const status of await Promise.all(batch)) counts[status] = (counts[status] ?? 0) + 1;
}
await closeDrizzleClient(database);
// deno-lint-ignore no-console -- read by the test
console.log(JSON.stringify(counts));
