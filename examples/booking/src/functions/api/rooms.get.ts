import { defineApiHandler, paginate } from "@trellis/fn/validation";
import { session } from "../../auth.ts";
import { listRooms } from "../../queries/rooms.ts";
import { Room, RoomPosition } from "../../schemas.ts";

const page = paginate({ item: Room, position: RoomPosition });

export const handler = defineApiHandler({
  // anybody may call it; the page may send its cookies
  auth: session({ optional: true }),
  querySchema: page.querySchema,
  responses: page.responses,
  openapi: { summary: "List rooms", tags: ["rooms"] },
})(async function getRooms({ event, query }) {
  const rows = await listRooms(query.take, query.after);
  return page.reply(event, query, rows, ({ name, id }) => [name, id]);
});
