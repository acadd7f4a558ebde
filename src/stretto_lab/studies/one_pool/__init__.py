"""One pool for services and batch over a day, compared with two pools."""
