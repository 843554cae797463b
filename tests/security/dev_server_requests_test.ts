/** Requests to `trellis dev` that no browser and no AWS client would send. */
import { assert, assertEquals } from "@std/assert";
import { SERVED, withDevServer } from "../cli/dev/fixtures/project.ts";

type Request = readonly [
  method: string,
  target: string,
  headers?: readonly string[],
  body?: string,
];

const FORM = ["Content-Type: application/x-www-form-urlencoded"];
const PUBLISH = "Action=Publish&TopicArn=arn:aws:sns:x:0:t&Message=hi";
const AWS = "/_trellis/aws";

const SNS_BODIES = [
  ...["", "%", "=", "Action=", "Action=Nothing", "Action=__proto__", "Action=constructor"],
  ...["Action=Publish", "Action=Publish&TopicArn=x", "Action=Publish&Message=%ff%00"],
  ...["Action=PublishBatch", "Action=%3Cx%3E", `Action=${"x".repeat(100_000)}`],
  "Action=PublishBatch&PublishBatchRequestEntries.member.999999999.Id=1",
];
const TARGETS = [
  ...["SendMessage", "SendMessageBatch", "GetQueueUrl", "Nope", "__proto__"]
    .map((operation) => `AmazonSQS.${operation}`),
  ...["AWSEvents.PutEvents", "AWSEvents.x", "x", "constructor"],
];
const JSON_BODIES = [
  ...[
    "",
    "{}",
    "null",
    "1",
    "[]",
    '"x"',
    "{",
    '{"Entries":1}',
    '{"Entries":[1]}',
    '{"Entries":[null]}',
  ],
  ...['{"Entries":{}}', '{"QueueUrl":null}', '{"QueueUrl":"http://x/q","MessageAttributes":5}'],
  ...[
    '{"QueueUrl":"http://x/q","MessageAttributes":{"a":null}}',
    '{"QueueUrl":{"a":1},"MessageBody":{}}',
  ],
  "[".repeat(100_000),
];
const PATHS = [
  ...[
    "/%ff",
    "/%",
    "/%zz",
    "/%c0%ae",
    "/hello/%ff",
    "/hello/%",
    "/hello/%00",
    "/hello/x?%ff=%ff",
    "/?%",
  ],
  ...[
    "ff",
    "api/%ff",
    "api/calls/%ff",
    "api/calls/__proto__",
    "api/tables/%ff",
    "nope",
    "api/",
    "../x",
  ]
    .map((path) => `/_trellis/${path}`),
  ...["//", "*", "/hello/a%2fb", "/_trellis/aws/%ff", `/hello/${"x".repeat(7000)}`],
];
const OFFSETS = [
  ..."1e308,-1,NaN,Infinity,1.5,0x10,,%20,99999999999999999999,9007199254740991,null".split(","),
  ...["1;drop table x", "%00", "%ff", "1&offset=2", "00", "1e3"],
];
const TABLES = ["greetings", "public.greetings", "nope", "%22", "a'b", "__proto__"];

const REQUESTS: Request[] = [
  ...SNS_BODIES.map((body): Request => ["POST", AWS, FORM, body]),
  ...TARGETS.flatMap((target) =>
    JSON_BODIES.map((body): Request => [
      "POST",
      AWS,
      ["Content-Type: application/x-amz-json-1.0", `X-Amz-Target: ${target}`],
      body,
    ])
  ),
  ...["GET", "PUT", "OPTIONS", "DELETE", "PATCH", "TRACE"].map((method): Request => [method, AWS]),
  ...PATHS.flatMap((path): Request[] => [["GET", path], ["POST", path]]),
  ...OFFSETS.flatMap((offset) =>
    TABLES.map((table): Request => ["GET", `/_trellis/api/tables/${table}?offset=${offset}`])
  ),
];
const PAGES = [
  "Origin: http://localhost:5173",
  "Origin: null",
  "Origin: http://evil.example",
  "origin:",
  "Sec-Fetch-Site: same-origin",
  "Sec-Fetch-Site: same-site",
  "Sec-Fetch-Site: none",
  "Referer: http://localhost:5173/x",
  "Cookie: a=b",
];

/** Sends a request as it is written; 0 stands for a connection that ended without an answer. */
async function send(
  port: number,
  [method, target, headers = [], body = ""]: Request,
): Promise<number> {
  const connection = await Deno.connect({ hostname: "127.0.0.1", port });
  try {
    const head = [`${method} ${target} HTTP/1.1`, `Host: localhost:${port}`, ...headers];
    const length = new TextEncoder().encode(body).length;
    const text = [...head, `Content-Length: ${length}`, "Connection: close", "", body].join("\r\n");
    await connection.write(new TextEncoder().encode(text));
    const answer = await new Response(connection.readable).text();
    return Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1] ?? 0);
  } catch {
    return 0;
  }
}

Deno.test(
  `startDevServer() answers ${REQUESTS.length} odd requests, none with 500`,
  SERVED,
  async () => {
    await withDevServer(async ({ url }) => {
      const port = Number(new URL(url).port);
      const faults: [number, Request][] = [];
      for (const request of REQUESTS) {
        const status = await send(port, request);
        if (status < 200 || status >= 500) faults.push([status, request]);
      }
      assertEquals(faults.map((fault) => JSON.stringify(fault).slice(0, 200)), []);
      assertEquals(await send(port, ["POST", AWS, FORM, PUBLISH]), 200);
      for (const header of PAGES) {
        assertEquals([header, await send(port, ["POST", AWS, [...FORM, header], PUBLISH])], [
          header,
          403,
        ]);
      }
      assert((await (await fetch(`${url}/hello/Ada`)).text()).includes("Hello Ada"));
    });
  },
);
