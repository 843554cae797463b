import { defineApiHandler } from "@trellis/fn/validation";
import { decodeCursor, PageQuery, toPage } from "../../cursor.ts";
import { listRooms } from "../../queries/rooms.ts";
import { RoomPage } from "../../schemas.ts";

export const handler = defineApiHandler({
  querySchema: PageQuery,
  responses: { 200: RoomPage },
  openapi: { summary: "List rooms", tags: ["rooms"] },
})(async function getRooms({ query: { limit, cursor } }) {
  const rows = await listRooms(limit, decodeCursor(cursor));
  return toPage(rows, limit, ({ name, id }) => [name, id]);
});
