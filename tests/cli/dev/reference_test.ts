import { assertEquals } from "@std/assert";
import type { IncomingMessage } from "node:http";
import { adoptOrigin } from "../../../cli/dev/reference.ts";

const CONFIGURED = "http://localhost:8787";

/** Returns the origin that a function sees of a request. */
async function adopt(host: string, name: "Origin" | "Referer", value: string): Promise<string> {
  const headers = { host, [name.toLowerCase()]: value };
  const rawHeaders = ["Host", host, name, value];
  await adoptOrigin(
    { headers, rawHeaders } as unknown as IncomingMessage,
    () => Promise.resolve(CONFIGURED),
  );
  return rawHeaders[3];
}

Deno.test("adoptOrigin() takes pages of the server for those of the auth configuration, by any name and port", async () => {
  for (const host of ["127.0.0.1:8787", "localhost:8787", "localhost:9000", "[::1]:8787"]) {
    assertEquals(await adopt(host, "Origin", `http://${host}`), CONFIGURED);
    assertEquals(await adopt(host, "Referer", `http://${host}/sign-up?next=/`), CONFIGURED);
  }
});

Deno.test("adoptOrigin() leaves the origin of other pages alone", async () => {
  const others = [
    "http://localhost:5173",
    "http://127.0.0.1:87870",
    "https://127.0.0.1:8787",
    "null",
  ];
  for (const origin of others) {
    assertEquals(await adopt("127.0.0.1:8787", "Origin", origin), origin);
  }
  const page = "http://127.0.0.1:8787.example.com/";
  assertEquals(await adopt("127.0.0.1:8787", "Referer", page), page);
});
