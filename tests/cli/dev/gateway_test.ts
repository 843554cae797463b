import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { request as httpRequest } from "node:http";
import { startGateway } from "../../../cli/dev/gateway.ts";
import { listenOnLoopback, readBody } from "../../../cli/dev/http/http_server.ts";
import type { LocalRoute } from "../../../testing/gateway/route_table.ts";
import { buildValidatedResponse, type RestApiEvent } from "../../../core/mod.ts";
import { ConfigurationError } from "../../../errors/mod.ts";
import { setLogOutput } from "../../../observability/mod.ts";
import { defineApiHandler } from "../../../validation/mod.ts";
import { captureLogs } from "../../support/capture_logs.ts";

const quiet = { logging: { level: "SILENT" }, metrics: false } as const;

let lastEvent: RestApiEvent | undefined;
const echo = defineApiHandler(quiet)(function echo({ event, context }) {
  lastEvent = event;
  return buildValidatedResponse(context, 200, { ok: true }, undefined, { cookies: ["a=1", "b=2"] });
});
const who = defineApiHandler({ ...quiet, auth: "authorizer-optional" })(
  function who({ userStatus, userId, context }) {
    return buildValidatedResponse(context, 200, { userStatus, userId });
  },
);
const routes: LocalRoute[] = [
  { method: "GET", path: "/who", name: "Who", handler: who, operation: who.operation },
  {
    method: "POST",
    path: "/things/{thingId}",
    name: "Things",
    handler: echo,
    operation: echo.operation,
  },
  { method: "ANY", path: "/all/{rest+}", name: "All", handler: echo, operation: echo.operation },
  {
    method: "GET",
    path: "/broken",
    name: "Broken",
    handler: () => Promise.reject(new Error("no wrapper around this one")),
  },
];

async function withGateway(test: (url: string, port: number) => Promise<void>): Promise<void> {
  const gateway = await startGateway({
    routes,
    authorizer: (event) => ({
      userStatus: event.headers.authorization ? "Authenticated" : "Anonymous",
      userId: "u1",
    }),
    pages: { "/": { contentType: "text/html", body: "<p>hello</p>" } },
  });
  try {
    await test(gateway.url, gateway.port);
  } finally {
    await gateway.stop();
  }
}

Deno.test("startGateway() makes a REST API's event of a request", async () => {
  await withGateway(async (url) => {
    const response = await fetch(`${url}/things/a%20b?tag=x&tag=y&empty=`, {
      method: "POST",
      headers: { "X-One": "1", "Content-Type": "application/json" },
      body: '{"é":1}',
    });
    assertEquals(await response.json(), { ok: true });
    assertEquals(response.headers.getSetCookie(), ["a=1", "b=2"]);
    const event = lastEvent!;
    assertEquals(event.resource, "/things/{thingId}");
    assertEquals(event.pathParameters, { thingId: "a b" });
    assertEquals({ ...event.queryStringParameters }, { tag: "y", empty: "" });
    assertEquals(event.multiValueQueryStringParameters?.tag, ["x", "y"]);
    assertEquals([event.body, event.isBase64Encoded], ['{"é":1}', false]);
    assertEquals(event.requestContext.identity?.sourceIp, "127.0.0.1");
  });
});

Deno.test("startGateway() passes a body that is not UTF-8 as base64", async () => {
  await withGateway(async (url) => {
    await (await fetch(`${url}/all/a/b`, { method: "PUT", body: new Uint8Array([0xff, 0x00]) }))
      .text();
    assertEquals([lastEvent!.body, lastEvent!.isBase64Encoded], ["/wA=", true]);
    assertEquals(lastEvent!.pathParameters, { rest: "a/b" });
  });
});

Deno.test("startGateway() answers unknown paths, methods and sizes with the documented body", async () => {
  await withGateway(async (url) => {
    const cases: [path: string, init: RequestInit, status: number, code: string][] = [
      ["/nothing", {}, 404, "NOT_FOUND"],
      ["/things/1", { method: "DELETE" }, 405, "METHOD_NOT_ALLOWED"],
      [
        "/things/1",
        { method: "POST", body: new Uint8Array(10 * 1024 * 1024 + 1) },
        413,
        "PAYLOAD_TOO_LARGE",
      ],
      ["/broken", {}, 500, "UNEXPECTED"],
    ];
    for (const [path, init, status, code] of cases) {
      const response = await fetch(`${url}${path}`, init);
      const body = await response.json();
      assertEquals([response.status, body.code], [status, code]);
      if (status === 405) assertEquals(response.headers.get("Allow"), "POST");
    }
  });
});

Deno.test("startGateway() asks the authorizer for functions that want one", async () => {
  await withGateway(async (url) => {
    const anonymous = await (await fetch(`${url}/who`)).json();
    const known = await (await fetch(`${url}/who`, { headers: { Authorization: "Bearer x" } }))
      .json();
    assertEquals([anonymous, known], [{ userStatus: "Anonymous" }, {
      userStatus: "Authenticated",
      userId: "u1",
    }]);
  });
});

Deno.test("startGateway() serves its pages, to localhost only", async () => {
  await withGateway(async (url, port) => {
    assertEquals(await (await fetch(`${url}/`)).text(), "<p>hello</p>");
    const status = await new Promise<number | undefined>((resolve, reject) => {
      httpRequest(
        { port, host: "127.0.0.1", path: "/", headers: { Host: "evil.example" } },
        (response) => {
          response.resume();
          response.on("end", () => resolve(response.statusCode));
        },
      ).on("error", reject).end();
    });
    assertEquals(status, 403);
  });
});

Deno.test("startGateway() says so when the port is in use", async () => {
  await withGateway(async (_url, port) => {
    const error = await assertRejects(() => startGateway({ routes, port }), ConfigurationError);
    assertMatch(error.message, new RegExp(`Port ${port} is in use`));
  });
});

/** All values of a header of an answer. */
async function getCorrelation(
  url: string,
  init: RequestInit = {},
): Promise<{ status: number; id: string; body: string }> {
  const response = await fetch(url, init);
  return {
    status: response.status,
    id: response.headers.get("X-Correlation-Id") ?? "",
    body: await response.text(),
  };
}

Deno.test("startGateway() answers everything with the caller's correlation id", async () => {
  const restore = setLogOutput(() => {});
  const loading = defineApiHandler(quiet)(async function loading({ context }) {
    await import("../../../env/mod.ts"); // on Deno 2.9 what comes later runs in this context
    return buildValidatedResponse(context, 200, {});
  });
  const gateway = await startGateway({
    routes: [...routes, { method: "GET", path: "/loading", name: "Loading", handler: loading }],
    pages: { "/": { contentType: "text/html", body: "<p>hello</p>" } },
  });
  const { url } = gateway;
  try {
    const cases: [path: string, init: RequestInit, status: number][] = [
      ["/loading", {}, 200],
      ["/nothing", {}, 404],
      ["/things/1", { method: "DELETE" }, 405],
      ["/things/1", { method: "POST", body: "{}" }, 200],
      ["/things/1", { method: "POST", body: new Uint8Array(10 * 1024 * 1024 + 1) }, 413],
      ["/broken", {}, 500],
      ["/", {}, 200],
      ["/nothing", { headers: { Origin: "https://evil.example" } }, 403],
    ];
    for (let round = 0; round < 2; round++) {
      for (const [at, [path, init, status]] of cases.entries()) {
        const own = `caller-${round}-${at}`;
        const told = await getCorrelation(`${url}${path}`, {
          ...init,
          headers: { ...init.headers, "X-Correlation-Id": own },
        });
        assertEquals([told.status, told.id], [status, own], path);
        if (status >= 400) assertEquals(JSON.parse(told.body).correlationId, own);

        const byRequest = await getCorrelation(`${url}${path}`, {
          ...init,
          headers: { ...init.headers, "X-Request-Id": `r-${own}` },
        });
        assertEquals(byRequest.id, `r-${own}`, path);
        // one that must not stand in a header is replaced, and nobody gets that of an earlier caller
        const made = await getCorrelation(`${url}${path}`, {
          ...init,
          headers: { ...init.headers, "X-Correlation-Id": "not <well> formed" },
        });
        assertMatch(made.id, /^[0-9a-f-]{36}$/);
        if (status >= 400) assertEquals(JSON.parse(made.body).correlationId, made.id);
      }
    }
  } finally {
    await gateway.stop();
    restore();
  }
});

Deno.test("startGateway() logs its own failures with the request's correlation id", async () => {
  const { lines } = await captureLogs(() =>
    withGateway(async (url) => {
      await getCorrelation(`${url}/broken`, { headers: { "X-Correlation-Id": "c-1" } });
      await getCorrelation(`${url}/nothing`, { headers: { "X-Correlation-Id": "c-2" } });
    })
  );
  assertEquals(lines.map((line) => [line.level, line.correlation_id]), [["ERROR", "c-1"]]);
});

Deno.test("startGateway() logs nothing when a client leaves before its request is complete", async () => {
  const { lines } = await captureLogs(() =>
    withGateway(async (url) => {
      const { hostname, port } = new URL(url);
      const socket = await Deno.connect({ hostname, port: Number(port) });
      const head = "POST /things/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{";
      await socket.write(new TextEncoder().encode(head));
      await getCorrelation(`${url}/who`);
      socket.close();
      for (let i = 0; i < 5; i++) assertEquals((await getCorrelation(`${url}/who`)).status, 200);
    })
  );
  assertEquals(lines, []);
});

Deno.test("listenOnLoopback() serves requests that offer h2c as HTTP/1.1, beside WebSockets", async () => {
  const server = await listenOnLoopback(async (request, response) => {
    response.end(`${request.method} ${(await readBody(request)).length}`);
  }, 0);
  server.onUpgrade((_, socket) => {
    socket.end("HTTP/1.1 404 Refused\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
    return Promise.resolve();
  });
  /** What Java's HttpClient sends by default. */
  const offer = (Upgrade: string) => ({
    Connection: "Upgrade, HTTP2-Settings",
    Upgrade,
    "HTTP2-Settings": "AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA",
  });
  function send(method: string, upgrade: string, body?: string): Promise<string> {
    return new Promise((resolve, reject) => {
      const { port } = server;
      const request = httpRequest({ port, host: "127.0.0.1", method, headers: offer(upgrade) });
      request.on("error", reject).on("response", async (response) => {
        let text = `${response.statusCode} `;
        for await (const chunk of response) text += chunk;
        resolve(text);
      }).end(body);
    });
  }
  assertEquals(await send("GET", "h2c"), "200 GET 0");
  assertEquals(await send("POST", "h2c", "x".repeat(200_000)), "200 POST 200000");
  assertEquals(await send("GET", "websocket"), "404 ");
  // no connection is left that would keep the process
  await server.stop();
});
