import { NotFoundError } from "@trellis/fn/errors";
import { defineApiHandler, reply } from "@trellis/fn/validation";
import { session } from "../../../auth.ts";
import { deleteRoom } from "../../../queries/rooms.ts";
import { RoomPath } from "../../../schemas.ts";

export const handler = defineApiHandler({
  auth: session({ roles: ["admin"] }),
  pathSchema: RoomPath,
  openapi: { summary: "Delete a room without bookings", tags: ["rooms"] },
})(async function removeRoom({ path }) {
  if (!await deleteRoom({ roomId: path.roomId })) throw new NotFoundError("No such room");
  return reply(204);
});
