import { assert, assertEquals, assertFalse } from "@std/assert";
import { isPlainText } from "../../observability/plain_text.ts";
import { redactDocument } from "../../observability/redact.ts";
import { redactText } from "../../observability/redact_text.ts";

const PLAIN = [
  "",
  "request completed",
  "The auth routes failed",
  "password hunter",
  "NOT_FOUND",
  "TOO_MANY_REQUESTS",
  "0b9f2c1e-6a54-4c53-9a57-0d6f2b3c4d5e",
];
const OTHERS = [
  "Bearer abcdefghij",
  "Basic dXNlcg",
  "token=x",
  "password: x",
  "AIzaABCDEFGHIJKLMNOP",
  "AKIAABCDEFGHIJKLMNOP",
  "AIza_ABCDEFGHIJKLMNOP",
  "https://a:b@example.com",
  "a".repeat(17),
  "word ".repeat(41),
  "two  spaces",
  "Ärger",
  "0b9f2c1e-6a54-4c53-9a57-0d6f2b3c4d5e\n",
];

Deno.test("isPlainText() accepts words and UUIDs", () => {
  for (const text of PLAIN) assert(isPlainText(text), text);
  for (const text of OTHERS) assertFalse(isPlainText(text), text);
});

Deno.test("isPlainText() accepts only texts that redactText() returns unchanged", () => {
  const pieces = [
    ...["bearer", "Basic", "basi", "cAbcdef", "token", "password", "PRIVATE KEY", "BEGIN", "eyJ"],
    ...["AIza", "ABSK", "EAAM", "LTAI", "dapi", "EZAK", "FLWSECK", "AKIA", "identified by", "sid"],
    ...[
      "Abcdefghijklmnop",
      "ABCDEFGHIJ",
      "CODE",
      "_",
      "_",
      "abcDefghIjkl",
      "0b9f2c1e-6a54-4c53-9a57-0d6f2b3c4d5e",
      "a",
      "Z",
      "9",
    ],
    ...[" ", " ", " ", "-", "=", ":", "'", '"', ".", "_", "\n"],
  ];
  let found = 0;
  for (let n = 0; n < 200_000; n++) {
    const length = 1 + Math.floor(Math.random() * 8);
    const text = Array.from(
      { length },
      () => pieces[Math.floor(Math.random() * pieces.length)],
    ).join("");
    if (!isPlainText(text)) continue;
    found++;
    assertEquals(redactText(text), text);
    assertEquals(redactDocument(text), text);
  }
  assert(found > 1000, `${found} plain texts`);
});
