import { assertEquals, assertInstanceOf, assertRejects } from "@std/assert";
import { InfiniteQueryObserver, MutationObserver, QueryClient } from "@tanstack/query-core";
import { ApiError, createClient } from "@trellis/fn/client";
import { createQueries } from "@trellis/fn/client/query";

interface Body<T> {
  content: { "application/json": T };
}

interface routes {
  GET: {
    "/notes": {
      parameters: { query?: { limit?: number; cursor?: string } };
      responses: { 200: Body<{ items: string[]; nextCursor: string | null }> };
    };
    "/health": { responses: { 204: { content?: never } } };
  };
  POST: {
    "/notes": {
      requestBody: Body<{ title: string }>;
      responses: { 201: Body<{ id: string }>; 409: Body<{ code: "CONFLICT" }> };
    };
    "/reset": { responses: { 204: { content?: never } } };
  };
}

const PAGES: Record<string, object> = {
  "?limit=1": { items: ["Milk"], nextCursor: "c2" },
  "?limit=1&cursor=c2": { items: ["Bread"], nextCursor: null },
};

function open() {
  const seen: string[] = [];
  const aborted: boolean[] = [];
  const client = createClient<routes>({
    baseUrl: "http://localhost",
    maxAttempts: 1,
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      seen.push(`${request.method} ${pathname}${search}`);
      aborted.push(request.signal.aborted);
      if (request.method === "GET" && pathname === "/notes") return Response.json(PAGES[search]);
      if (pathname !== "/notes") return new Response(null, { status: 204 });
      const { title } = await request.json();
      return title === "Milk"
        ? Response.json({ code: "CONFLICT" }, { status: 409 })
        : Response.json({ id: "n2" }, { status: 201 });
    },
  });
  const queries = new QueryClient({
    defaultOptions: { queries: { retry: false, staleTime: 1e6 } },
  });
  return { api: createQueries(client), queries, seen, aborted };
}

Deno.test("createQueries() fetches, caches and invalidates by method and path", async () => {
  const { api, queries, seen } = open();
  const options = api.query("/notes", { params: { query: { limit: 1 } } });
  const { items } = await queries.fetchQuery(options);
  assertEquals(items satisfies string[], ["Milk"]);
  await queries.fetchQuery(options);
  assertEquals(seen, ["GET /notes?limit=1"]);
  await queries.invalidateQueries({ queryKey: ["GET", "/notes"] });
  await queries.fetchQuery(options);
  assertEquals(seen.length, 2);
  assertEquals((await queries.fetchQuery(api.query("/health"))) satisfies null, null);
  // @ts-expect-error the route does not exist
  api.query("/nothing");
  queries.clear();
});

Deno.test("createQueries() passes the signal of a query on", async () => {
  const { api, aborted } = open();
  await api.query("/health").queryFn({ signal: new AbortController().signal });
  await api.query("/health").queryFn({ signal: AbortSignal.abort() });
  assertEquals(aborted, [false, true]);
});

Deno.test("createQueries() reads all pages of a list", async () => {
  const { api, queries } = open();
  const observer = new InfiniteQueryObserver(
    queries,
    api.pages("/notes", { params: { query: { limit: 1 } } }),
  );
  const first = await observer.fetchOptimistic(observer.options as never);
  assertEquals(first.data?.pages.flatMap(({ items }) => items), ["Milk"]);
  const { data, hasNextPage } = await observer.fetchNextPage();
  assertEquals([data?.pages.flatMap(({ items }) => items), hasNextPage], [
    ["Milk", "Bread"],
    false,
  ]);
  observer.destroy();
  queries.clear();
});

Deno.test("createQueries() sends mutations, and rejects with the error of the API", async () => {
  const { api, queries } = open();
  const observer = new MutationObserver(queries, api.mutation("POST", "/notes"));
  const { id } = await observer.mutate({ body: { title: "Bread" } });
  assertEquals(id satisfies string, "n2");
  const error = await assertRejects(() => observer.mutate({ body: { title: "Milk" } }), ApiError);
  assertInstanceOf(error, ApiError);
  assertEquals([error.status, error.code], [409, "CONFLICT"]);
  assertEquals(await api.mutation("POST", "/reset").mutationFn(), null);
  // @ts-expect-error the body is required
  const wrong = () => api.mutation("POST", "/notes").mutationFn();
  assertEquals(typeof wrong, "function");
  queries.clear();
});
