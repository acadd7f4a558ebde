"""What the dashboard shows, as values: grids, trees and timelines of one state of a scheduler."""
