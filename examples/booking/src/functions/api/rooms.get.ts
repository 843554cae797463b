import { defineApiHandler } from "@trellis/fn/validation";
import { session } from "../../auth.ts";
import { decodeCursor, PageQuery, toPage } from "../../cursor.ts";
import { listRooms } from "../../queries/rooms.ts";
import { RoomPage } from "../../schemas.ts";

export const handler = defineApiHandler({
  // anybody may call it; the page may send its cookies
  auth: session({ optional: true }),
  querySchema: PageQuery,
  responses: { 200: RoomPage },
  openapi: { summary: "List rooms", tags: ["rooms"] },
})(async function getRooms({ query: { limit, cursor } }) {
  const rows = await listRooms(limit, decodeCursor(cursor));
  return toPage(rows, limit, ({ name, id }) => [name, id]);
});
