import { assertEquals, assertRejects } from "@std/assert";
import fc from "fast-check";
import { createSignedLink, verifySignedLink } from "../../../auth/mod.ts";
import type { ApiEvent } from "../../../core/mod.ts";
import { ConfigurationError, ForbiddenError } from "../../../errors/mod.ts";
import {
  createAlbEvent,
  createFakeClock,
  createHttpApiEvent,
  createRestApiEvent,
} from "../../../testing/mod.ts";
import { testSeed } from "../../support/seed.ts";

const SECRET = "0123456789abcdef0123456789abcdef", OTHER = "fedcba9876543210fedcba9876543210";
const options = { purpose: "invoice", secret: SECRET };
const create = (url: string) => createSignedLink(url, { ...options, expiresInSeconds: 60 });
const refused = (link: string | ApiEvent, given = options) =>
  assertRejects(() => verifySignedLink(link, given), ForbiddenError, "The link is not valid");

Deno.test("a signed link is accepted with its path and query, on any host", async () => {
  const link = await create("https://api.example.com/invoices/i1/file?format=pdf&format=a4");
  await verifySignedLink(link, options);
  await verifySignedLink(new URL(link.replace("api.example.com", "localhost:3000")), options);
  assertEquals((await create("/invoices/i1")).startsWith("/invoices/i1?expires="), true);
});

Deno.test("a signed link is refused with anything changed", async () => {
  const link = await create("/invoices/i1/file?format=pdf");
  await refused(link.replace("i1", "i2"));
  await refused(link.replace("pdf", "csv"));
  await refused(`${link}&more=1`);
  await refused(link.replace("format=pdf&", ""));
  await refused(link.replace(/expires=(\d+)/, (_, at) => `expires=${Number(at) + 1}`));
  await refused(
    link.replace(/signature=(.)/, (_, first) => `signature=${first === "x" ? "y" : "x"}`),
  );
  await refused(link.replace(/&signature=.*/, ""));
  await refused("/invoices/i1/file");
  await refused(link, { ...options, purpose: "other" });
  await refused(link, { ...options, secret: OTHER });
});

Deno.test("a signed link is refused after its time", async () => {
  const clock = createFakeClock();
  const link = await createSignedLink("/a", { ...options, expiresInSeconds: 60, clock });
  await clock.advance(59_000);
  await verifySignedLink(link, { ...options, clock });
  await clock.advance(1_000);
  await assertRejects(
    () => verifySignedLink(link, { ...options, clock }),
    ForbiddenError,
    "The link has expired",
  );
});

Deno.test("a rotated secret still accepts links of the former one", async () => {
  const link = await create("/a");
  await verifySignedLink(link, { purpose: "invoice", secret: [OTHER, SECRET] });
  await refused(link, { purpose: "invoice", secret: [OTHER, OTHER] as never });
});

Deno.test("a signed link is accepted in the event of each gateway", async () => {
  const link = new URL(await create("https://api.example.com/prod/files/caf%C3%A9%20menu?x=a%26b"));
  const query = Object.fromEntries(link.searchParams);
  const path = "/prod/files/caf%C3%A9%20menu";
  const rest = createRestApiEvent({ path: "/files/caf%C3%A9%20menu", query });
  const events: ApiEvent[] = [
    createHttpApiEvent({ path, query }),
    createHttpApiEvent({ path: decodeURIComponent(path), query }),
    createAlbEvent({ path, query }),
    { ...rest, requestContext: { ...rest.requestContext, path } } as ApiEvent,
  ];
  for (const event of events) await verifySignedLink(event, options);
  await refused(createHttpApiEvent({ path: "/prod/files/other", query }));
  await refused(createRestApiEvent({ path: "/files/other", query }));
});

Deno.test("createSignedLink() refuses what it cannot sign", async () => {
  const cases: [url: string, change: object, message: string][] = [
    ["/a", { secret: "short" }, "at least 32 characters"],
    ["/a", { secret: [] }, "at least 32 characters"],
    ["/a", { purpose: "" }, "a purpose"],
    ["/a", { expiresInSeconds: 0 }, "from 1 to 31536000"],
    ["/a", { expiresInSeconds: NaN }, "from 1 to 31536000"],
    ["/a?expires=1", {}, "must not have the parameters"],
    ["/a%2Fb", {}, "%2F"],
    ["/100%25", {}, "%25"],
  ];
  for (const [url, change, message] of cases) {
    await assertRejects(
      () => createSignedLink(url, { ...options, expiresInSeconds: 60, ...change }),
      ConfigurationError,
      message,
    );
  }
});

Deno.test("signed links of other paths and queries never match", async () => {
  const part = fc.string({ unit: "grapheme", minLength: 1, maxLength: 8 })
    .filter((text) => !/[/%]|^\.{1,2}$/.test(text) && text.isWellFormed());
  const target = fc.record({
    segments: fc.array(part, { maxLength: 3 }),
    query: fc.dictionary(
      part.filter((name) => !["expires", "signature", "__proto__"].includes(name)),
      fc.string({ unit: "grapheme" }).filter((text) => text.isWellFormed()),
      { maxKeys: 3 },
    ),
  });
  const toUrl = ({ segments, query }: { segments: string[]; query: Record<string, string> }) => {
    const search = new URLSearchParams(query);
    return `/${segments.map(encodeURIComponent).join("/")}${search.size > 0 ? `?${search}` : ""}`;
  };
  await fc.assert(
    fc.asyncProperty(target, target, async (one, two) => {
      const link = await create(toUrl(one));
      await verifySignedLink(link, options);
      const [a, b] = [one, two].map(({ segments, query }) =>
        JSON.stringify([segments, Object.entries(query).sort()])
      );
      if (a === b) return;
      const stolen = new URLSearchParams(link.split("?")[1]);
      const other = new URL(toUrl(two), "https://path.invalid");
      for (const name of ["expires", "signature"]) other.searchParams.set(name, stolen.get(name)!);
      await refused(other.href);
    }),
    { seed: testSeed, numRuns: 300 },
  );
});
