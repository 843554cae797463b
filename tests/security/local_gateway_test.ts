import { assertEquals, assertFalse, assertMatch, assertRejects } from "@std/assert";
import { startGateway } from "../../cli/dev/gateway.ts";
import { buildValidatedResponse } from "../../core/mod.ts";
import { setLogOutput } from "../../observability/mod.ts";
import { defineApiHandler } from "../../validation/mod.ts";

let calls = 0;
const handler = defineApiHandler({ logging: { level: "SILENT" }, metrics: false })(
  function act({ context, event }) {
    calls++;
    return buildValidatedResponse(context, 200, {
      path: event.requestContext && (event as { path?: string }).path,
    });
  },
);
const routes = [{
  method: "ANY",
  path: "/act",
  name: "Act",
  handler,
  operation: handler.operation,
}];

async function withGateway(test: (port: number) => Promise<void>): Promise<void> {
  const restore = setLogOutput(() => {});
  const gateway = await startGateway({ routes });
  calls = 0;
  try {
    await test(gateway.port);
  } finally {
    await gateway.stop();
    restore();
  }
}

/** Sends a request as it is written, since `fetch` would not let a test write such ones. */
async function send(
  port: number,
  lines: readonly string[],
): Promise<{ status: number; text: string }> {
  const connection = await Deno.connect({ hostname: "127.0.0.1", port });
  let text = "";
  try {
    await connection.write(
      new TextEncoder().encode([...lines, "Connection: close", "", ""].join("\r\n")),
    );
    const buffer = new Uint8Array(65536);
    for (
      let read = await connection.read(buffer);
      read !== null;
      read = await connection.read(buffer)
    ) {
      text += new TextDecoder().decode(buffer.subarray(0, read));
    }
  } finally {
    connection.close();
  }
  return { status: Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1]), text };
}

const get = (port: number, ...headers: string[]) => send(port, ["GET /act HTTP/1.1", ...headers]);

Deno.test("the local gateway listens on loopback and on no other address of the machine", async () => {
  await withGateway(async (port) => {
    const others = Deno.networkInterfaces().filter(({ address, family }) =>
      family === "IPv4" && !address.startsWith("127.")
    );
    // deno-lint-ignore no-console -- a test that cannot be made says so
    if (others.length === 0) console.warn("skipped: this machine has no address but loopback");
    for (const { address } of others) {
      await assertRejects(
        () => Deno.connect({ hostname: address, port }),
        Deno.errors.ConnectionRefused,
      );
    }
    assertEquals((await get(port, `Host: localhost:${port}`)).status, 200);
  });
});

Deno.test("the local gateway rejects other values of the Host header (DNS rebinding)", async () => {
  await withGateway(async (port) => {
    for (const host of ["localhost", "127.0.0.1", "[::1]"]) {
      assertEquals((await get(port, `Host: ${host}:${port}`)).status, 200, host);
    }
    calls = 0;
    const foreign = [
      "evil.example",
      `evil.example:${port}`,
      "127.0.0.1.evil.example",
      "localhost.evil.example",
      "evil.example#localhost",
      "localhost@evil.example",
      "0.0.0.0",
      "127.0.0.1:80:80",
      "localhost.",
      "",
    ];
    for (const host of foreign) assertEquals((await get(port, `Host: ${host}`)).status, 403, host);
    const absolute = await send(port, ["GET http://localhost/act HTTP/1.1", "Host: evil.example"]);
    assertEquals(absolute.status, 403);
    assertEquals((await send(port, ["GET /act HTTP/1.0"])).status, 403);
    assertEquals(calls, 0);
  });
});

Deno.test("the local gateway rejects requests from pages of other hosts", async () => {
  await withGateway(async (port) => {
    const host = `Host: localhost:${port}`;
    assertEquals((await get(port, host, "Origin: http://localhost:3000")).status, 200);
    calls = 0;
    const foreign = [
      "http://evil.example",
      "null",
      "http://localhost.evil.example",
      "http://localhost@evil.example",
      "http://127.0.0.1.nip.io",
      "file://",
      "http://[::ffff:7f00:1].evil.example",
      "localhost",
    ];
    for (const origin of foreign) {
      assertEquals((await get(port, host, `Origin: ${origin}`)).status, 403, origin);
    }
    assertEquals(calls, 0);
  });
});

Deno.test("the local gateway rejects subresources of other hosts without an Origin header, and allows links", async () => {
  await withGateway(async (port) => {
    const host = `Host: localhost:${port}`;
    for (const mode of ["no-cors", "cors", "websocket"]) {
      const image = await get(
        port,
        host,
        "Sec-Fetch-Site: cross-site",
        `Sec-Fetch-Mode: ${mode}`,
        "Sec-Fetch-Dest: image",
      );
      assertEquals(image.status, 403, mode);
    }
    const image = [
      "Sec-Fetch-Site: cross-site",
      "Sec-Fetch-Mode: no-cors",
      "Sec-Fetch-Dest: image",
    ];
    assertEquals(
      (await get(port, host, ...image, "Referer: http://evil.example/?http://localhost/")).status,
      403,
    );
    assertEquals(calls, 0);
    // for a browser localhost and 127.0.0.1 are two sites
    assertEquals((await get(port, host, ...image, "Referer: http://localhost:5173/")).status, 200);
    // an identity provider sends the browser back like this
    const visit = [
      "Sec-Fetch-Site: cross-site",
      "Sec-Fetch-Mode: navigate",
      "Sec-Fetch-Dest: document",
    ];
    assertEquals((await get(port, host, ...visit)).status, 200);
    assertEquals((await get(port, host, ...visit.with(2, "Sec-Fetch-Dest: iframe"))).status, 403);
    assertEquals(
      (await get(port, host, "Sec-Fetch-Site: same-origin", "Sec-Fetch-Mode: cors")).status,
      200,
    );
    assertEquals(
      (await get(port, host, "Sec-Fetch-Site: same-site", "Sec-Fetch-Mode: cors")).status,
      200,
    );
  });
});

Deno.test("the local gateway accepts headers and query parameters named like members of Object.prototype", async () => {
  await withGateway(async (port) => {
    for (const name of ["__proto__", "constructor", "toString", "hasOwnProperty"]) {
      const { status } = await send(port, [
        `GET /act?${name}=1&${name}=2 HTTP/1.1`,
        `Host: localhost:${port}`,
        `${name}: x`,
      ]);
      assertEquals(status, 200, name);
    }
    assertFalse("x" in {});
  });
});

Deno.test("the local gateway does not use an absolute request target as the address, and does not split responses", async () => {
  await withGateway(async (port) => {
    for (
      const target of [
        "//evil.example/act",
        "http://evil.example/act",
        "/act%0d%0aX-Injected:%201",
        "/../act",
        "/%2e%2e/act",
      ]
    ) {
      const { text } = await send(port, [`GET ${target} HTTP/1.1`, `Host: localhost:${port}`]);
      assertMatch(text, /^HTTP\/1\.1 (?:200|404)/);
      assertFalse(/^X-Injected/im.test(text), target);
    }
  });
});
