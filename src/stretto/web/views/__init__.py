"""Views of the dashboard, as values: grids, trees and timelines of one state of a scheduler."""
