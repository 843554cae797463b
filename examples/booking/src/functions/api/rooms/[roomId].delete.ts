import { buildValidatedResponse } from "@trellis/fn/core";
import { NotFoundError } from "@trellis/fn/errors";
import { defineApiHandler } from "@trellis/fn/validation";
import "../../../auth.ts";
import { deleteRoom } from "../../../queries/rooms.ts";
import { RoomPath } from "../../../schemas.ts";

export const handler = defineApiHandler({
  auth: "session",
  roles: ["admin"],
  pathSchema: RoomPath,
  openapi: { summary: "Delete a room without bookings", tags: ["rooms"], successStatus: 204 },
})(async function removeRoom({ context, path }) {
  if (!await deleteRoom({ roomId: path.roomId })) throw new NotFoundError("No such room");
  return buildValidatedResponse(context, 204);
});
