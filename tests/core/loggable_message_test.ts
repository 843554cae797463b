import { assertEquals } from "@std/assert";
import { toLoggable } from "../../core/loggable_message.ts";
import { redactPaths } from "../../core/loggable_message.ts";
import { redactValue } from "../../observability/redact.ts";

const PATHS: [path: string, secret: string, safe: string][] = [
  ["/reset/abc", "abc", "/reset/[REDACTED]"],
  ["/abc/abcd/abc", "abc", "/[REDACTED]/abcd/[REDACTED]"],
  ["/a%20b/c?d", "a b", "/[REDACTED]/c?d"],
  ["/a%2fb", "a/b", "/[REDACTED]"],
  ["/x/a/b", "a/b", "/x/[REDACTED]"],
  ["/x/a%20b", "a%20b", "/x/[REDACTED]"],
  ["https://host/abc?page=2", "abc", "https://host/[REDACTED]?page=2"],
  [
    "arn:aws:execute-api:r:1:id/stage/GET/x/abc",
    "abc",
    "arn:aws:execute-api:r:1:id/stage/GET/x/[REDACTED]",
  ],
  ["/%ff/abc", "abc", "/%ff/[REDACTED]"],
  ["/a%20b/c", "d", "/a%20b/c"],
  ["/a", "", "/a"],
];

for (const [path, secret, safe] of PATHS) {
  Deno.test(`redactPaths() makes ${safe} of ${path} when ${JSON.stringify(secret)} is secret`, () => {
    assertEquals(redactPaths({ a: [path] }, new Set([secret])), { a: [safe] });
  });
}

Deno.test("toLoggable() replaces a sensitive path parameter in every path of an event", () => {
  const event = {
    pathParameters: { resetToken: "abc/d", id: "n1" },
    rawPath: "/notes/n1/abc%2Fd",
    headers: { Referer: "https://host/notes/n1/abc/d" },
    requestContext: { path: "/prod/notes/n1/abc/d", resourcePath: "/notes/{id}/{resetToken+}" },
  };
  assertEquals(redactValue(toLoggable(event)), {
    pathParameters: { resetToken: "[REDACTED]", id: "n1" },
    rawPath: "/notes/n1/[REDACTED]",
    headers: { Referer: "https://host/notes/n1/[REDACTED]" },
    requestContext: {
      path: "/prod/notes/n1/[REDACTED]",
      resourcePath: "/notes/{id}/{resetToken+}",
    },
  });
});
