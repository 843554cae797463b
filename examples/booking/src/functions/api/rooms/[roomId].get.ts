import { NotFoundError } from "@trellis/fn/errors";
import { defineApiHandler } from "@trellis/fn/validation";
import { session } from "../../../auth.ts";
import { findRoom } from "../../../queries/rooms.ts";
import { RoomDetails, RoomPath } from "../../../schemas.ts";

export const handler = defineApiHandler({
  // anybody may call it; the page may send its cookies
  auth: session({ optional: true }),
  pathSchema: RoomPath,
  responses: { 200: RoomDetails },
  openapi: { summary: "Return a room and its booked nights", tags: ["rooms"] },
})(async function getRoom({ path }) {
  const room = await findRoom(path.roomId);
  if (room === undefined) throw new NotFoundError("No such room");
  return room;
});
