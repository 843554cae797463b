import { defineApiHandler, reply } from "@trellis/fn/validation";
import { Found, Problem, Search, SearchCookies, SearchHeaders } from "../../schemas.ts";

export const handler = defineApiHandler({
  querySchema: Search,
  headers: SearchHeaders,
  cookies: SearchCookies,
  responses: { 200: Found, 409: Problem },
})(function search({ query, headers, cookies }) {
  if (query.limit === 100) return reply(409, { code: "TOO_MANY", limit: 99 });
  return reply(200, {
    ...query,
    tenant: headers["x-tenant"],
    rank: headers["x-rank"],
    theme: cookies.theme,
  });
});
